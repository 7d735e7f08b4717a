import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, test } from 'vitest';
import { createMailChannel, createSnsPublisher } from '../../../functions/notifier/channels/email.ts';
import { noticeOf } from '../../../functions/notifier/deciding/notice-of-event.ts';
import { anEvent } from '../channel-under-test.ts';

const TOPIC = 'arn:aws:sns:us-east-1:123456789012:alerts';
const message = [
  [noticeOf('Operation State Changed', anEvent().detail)].filter((notice) => notice !== undefined),
];

describe('e-mail through a topic', () => {
  test('is published with a subject that SNS takes', async () => {
    const sns = mockClient(SNSClient);
    sns.on(PublishCommand).resolves({ MessageId: 'm' });
    const channel = createMailChannel(createSnsPublisher(new SNSClient({ region: 'us-east-1' }), TOPIC), {});

    expect(await channel.send(message)).toEqual({ kind: 'sent' });

    const input = sns.commandCalls(PublishCommand)[0]?.args[0].input;
    expect(input?.TopicArn).toBe(TOPIC);
    expect(input?.Subject).toMatch(/^[\x20-\x7e]{1,99}$/);
    expect(input?.Message).toContain('start_compute failed');
  });

  test('a topic that is throttled is a failure, to be tried again', async () => {
    const sns = mockClient(SNSClient);
    sns.on(PublishCommand).rejects(Object.assign(new Error('Rate exceeded'), { name: 'ThrottledException' }));
    const channel = createMailChannel(createSnsPublisher(new SNSClient({ region: 'us-east-1' }), TOPIC), {});

    expect(await channel.send(message)).toEqual({ kind: 'failed', reason: 'ThrottledException' });
  });
});
