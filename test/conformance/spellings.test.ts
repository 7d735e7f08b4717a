import { describe, expect, test } from 'vitest';
import { type Service, startService } from './service-under-test.ts';

const auth_provider = 'stack';

describe('the origin of a redirect URI', () => {
  const add = (service: Service, domain: string) =>
    service.call('addRedirectDomain', { body: { domain, auth_provider } });
  const remove = (service: Service, domain: string) =>
    service.call('deleteRedirectDomains', { body: { auth_provider, domains: [{ domain }] } });

  test.each([
    'https://app.example.com',
    'HTTPS://App.Example.COM',
    'https://app.example.com:443',
    'http://localhost:3000',
    'https://192.0.2.7:8443',
    'https://[2001:db8::7]',
    'https://bücher.example',
    'https://xn--bcher-kva.example',
    'myapp://auth',
    'com.example.app+debug://login',
  ])('is accepted as %s, is shown as it was given, and can be removed', async (domain) => {
    const service = await startService();
    await service.withAuth();
    expect((await add(service, domain)).status).toBe(201);

    const { domains } = (await service.call('listRedirectDomains')).body;
    expect(domains).toContainEqual({ domain, auth_provider });

    expect((await remove(service, domain)).status).toBe(200);
    expect((await service.call('listRedirectDomains')).body.domains).toHaveLength(1);
  });

  test.each([
    'app.example.com',
    '//app.example.com',
    'https://',
    'https://app.example.com/',
    'https://app.example.com?x=1',
    'https://app.example.com#top',
    'https://user@app.example.com',
    'https://app.example.com\\path',
    'https://app example.com',
    'https://app.example.com:65536',
    'https://[2001:db8::7',
    '1app://auth',
    'javascript:alert(1)',
  ])('is refused as %s', async (domain) => {
    const service = await startService();
    await service.withAuth();

    expect((await add(service, domain)).status).toBe(400);
  });

  test('is the same one in another spelling', async () => {
    const service = await startService();
    await service.withAuth();
    await add(service, 'https://app.example.com');

    expect((await add(service, 'HTTPS://App.Example.com:443')).status).toBe(409);
    expect((await remove(service, 'https://APP.example.com:443')).status).toBe(200);
  });
});

describe('an e-mail address', () => {
  const create = (service: Service, email: string) =>
    service.call('createAuthUser', { body: { auth_provider, project_id: service.projectId, email } });

  test.each([
    'ada@example.com',
    "o'brien+news@example.co.uk",
    '!#$%&*/=?^_`{|}~-@example.com',
    '"ada lovelace"@example.com',
    '"ada\\"s"@example.com',
    'ada@[192.0.2.7]',
    'ada@[IPv6:2001:db8::7]',
    'ada@localhost',
    'käthe@bücher.example',
    `${'a'.repeat(64)}@example.com`,
  ])('is accepted as %s, and is in the users table', async (email) => {
    const service = await startService();
    await service.withAuth();

    expect((await create(service, email)).status).toBe(201);
    const { users } = (await service.control('GET', `/projects/${service.projectId}/users`)).body;
    expect(users.map((user: { email: string }) => user.email)).toEqual([email]);
  });

  test.each([
    'ada',
    '@example.com',
    'ada@',
    'ada lovelace@example.com',
    '.ada@example.com',
    'ada.@example.com',
    'a..b@example.com',
    'ada@-example.com',
    'ada@example..com',
    'ada@[192.0.2.256]',
    'ada@[2001:db8::7]',
    'ada@exa_mple.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(64)}.com`,
    'ada@example.com, eve@example.com',
  ])('is refused as %s', async (email) => {
    const service = await startService();
    await service.withAuth();

    expect((await create(service, email)).status).toBe(400);
  });

  test('is the same one with its domain in another case, and another one with another name before the @', async () => {
    const service = await startService();
    await service.withAuth();
    await create(service, 'ada@example.com');

    expect((await create(service, 'ada@EXAMPLE.com')).status).toBe(409);
    // Only the receiving host may say that two names before the @ are one (RFC 5321, section 2.4).
    expect((await create(service, 'Ada@example.com')).status).toBe(201);
  });

  test('of the sender may have every spelling, too', async () => {
    const service = await startService();
    await service.withAuth();
    const server = { type: 'standard', host: 'smtp.example.com', port: 587, username: 'u', password: 'p' };
    const body = { ...server, sender_email: '"no reply"@example.com', sender_name: 'Example' };

    expect((await service.call('updateEmailServer', { body })).body.sender_email).toBe(body.sender_email);
  });
});
