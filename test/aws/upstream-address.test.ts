/** Tests which addresses are refused, because the key of an account must not be sent to them. */

import { describe, expect, test } from 'vitest';
import { deployedUpstreamBaseUrl, upstreamBaseUrl } from '../../shared/config/account-rules.ts';

const REFUSED_ALWAYS = [
  'http://upstream.example/api/v2',
  'http://10.0.0.5/api/v2',
  'ftp://upstream.example/api/v2',
  'https://user:password@upstream.example/api/v2',
  'https://user@upstream.example/api/v2',
  'https://upstream.example/api/v2?key=x',
  'https://upstream.example/api/v2#x',
  'https://169.254.169.254/latest/meta-data',
  'http://169.254.169.254/latest/meta-data',
  'https://169.254.170.2/v2/credentials',
  'https://169.254.170.23/v1/credentials',
  'https://2852039166/latest',
  'https://0xa9fea9fe/latest',
  'https://0251.0376.0251.0376/latest',
  'https://169.254.43518/latest',
  'https://[::ffff:169.254.169.254]/latest',
  'https://[::ffff:a9fe:a9fe]/latest',
  'https://[fd00:ec2::254]/latest',
  'https://[fd00:ec2::23]/latest',
  'https://[fe80::1]/latest',
  'https://100.100.100.200/latest',
  'https://metadata.google.internal/computeMetadata/v1',
  'https://metadata.google.internal./computeMetadata/v1',
  'https://METADATA.google.internal/computeMetadata/v1',
  'https://instance-data/latest',
  'https://metadata/latest',
  'https://something.local/x',
  'https://0.0.0.0/x',
  'http://[::]/x',
  'upstream.example',
  '',
];

const REFUSED_FOR_A_DEPLOYMENT = [
  'http://127.0.0.1:3000/api/v2',
  'http://localhost:3000/api/v2',
  'http://[::1]:3000/api/v2',
  'https://127.0.0.1/api/v2',
  'https://localhost/api/v2',
  'https://127.1/api/v2',
  'https://[::ffff:127.0.0.1]/api/v2',
];

describe('the address of the upstream', () => {
  test.each(REFUSED_ALWAYS)('must not be %s', (address) => {
    expect(upstreamBaseUrl.safeParse(address).success).toBe(false);
    expect(deployedUpstreamBaseUrl.safeParse(address).success).toBe(false);
  });

  test.each(REFUSED_FOR_A_DEPLOYMENT)(
    'of a deployment must not be %s, but that of a local run can be',
    (address) => {
      expect(deployedUpstreamBaseUrl.safeParse(address).success).toBe(false);
      expect(upstreamBaseUrl.safeParse(address).success).toBe(true);
    },
  );

  test.each([
    'https://console.example.com/api/v2',
    'https://10.0.0.5/api/v2',
    'https://[2001:db8::1]/api/v2',
  ])('can be %s', (address) => expect(deployedUpstreamBaseUrl.safeParse(address).success).toBe(true));

  test('is refused with advice on what to do, and without the credentials that it contained', () => {
    const { error } = deployedUpstreamBaseUrl.safeParse('https://user:canary@upstream.example/');

    expect(error?.issues[0]?.message).toBe('must have no credentials in it; the key stands in a secret');
    expect(error?.message).not.toContain('canary');
  });
});
