import {
  CreateEventBusCommand,
  DescribeEventBusCommand,
  PutEventsCommand,
  PutRuleCommand,
  TestEventPatternCommand,
} from '@aws-sdk/client-eventbridge';
import { describe, expect, test } from 'vitest';
import { anEntry, collect, openAws } from './aws-under-test.ts';

const detailOf = (bytes: number) => JSON.stringify({ text: 'x'.repeat(bytes - '{"text":""}'.length) });

describe('PutEvents through the real client', () => {
  test('delivers an event that a rule matches, with the id that it answered', async () => {
    const { aws, events } = await openAws();
    const delivered = collect(aws, { detail: { status: ['failed'] } });
    const Time = new Date('2026-01-15T12:00:00.999Z');
    const Entries = [anEntry({ Time }), anEntry({ Detail: '{"status":"finished"}' })];
    const answer = await events.send(new PutEventsCommand({ Entries }));
    await aws.bus.idle();

    expect(answer.FailedEntryCount).toBe(0);
    expect(delivered).toMatchObject([{ id: answer.Entries?.[0]?.EventId, time: '2026-01-15T12:00:00Z' }]);
  });

  test('answers for each entry separately, in order', async () => {
    const { aws, events } = await openAws();
    const delivered = collect(aws, { source: ['test'] });
    const Entries = [anEntry(), anEntry({ Detail: '7' }), anEntry({ Source: '' }), anEntry()];
    const answer = await events.send(new PutEventsCommand({ Entries }));
    await aws.bus.idle();

    expect(answer.FailedEntryCount).toBe(2);
    expect(answer.Entries?.map(({ ErrorCode }) => ErrorCode)).toEqual([
      undefined,
      'MalformedDetail',
      'InvalidArgument',
      undefined,
    ]);
    expect(delivered.map(({ id }) => id)).toEqual([
      answer.Entries?.[0]?.EventId,
      answer.Entries?.[3]?.EventId,
    ]);
  });

  test('accepts and loses an event for a bus that does not exist, which only DescribeEventBus reports', async () => {
    const { aws, events } = await openAws();
    const delivered = collect(aws, { source: ['test'] });
    const Entries = [anEntry({ EventBusName: 'nowhere' })];
    const answer = await events.send(new PutEventsCommand({ Entries }));
    await aws.bus.idle();

    expect(answer).toMatchObject({ FailedEntryCount: 0, Entries: [{ EventId: expect.any(String) }] });
    expect(delivered).toEqual([]);
    await expect(events.send(new DescribeEventBusCommand({ Name: 'nowhere' }))).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
    expect(await events.send(new DescribeEventBusCommand({ Name: 'bus' }))).toMatchObject({
      Name: 'bus',
      Arn: 'arn:aws:events:us-east-1:000000000000:event-bus/bus',
    });
  });

  test('accepts one to ten entries, and refuses zero and eleven', async () => {
    const { events } = await openAws();
    const put = (count: number) =>
      events.send(new PutEventsCommand({ Entries: Array.from({ length: count }, () => anEntry()) }));

    expect((await put(10)).Entries).toHaveLength(10);
    await expect(put(11)).rejects.toMatchObject({ name: 'ValidationException' });
    await expect(put(0)).rejects.toMatchObject({ name: 'ValidationException' });
  });

  test('counts the UTF-8 bytes of source, detail type, detail and resources, and of a given time', async () => {
    const { events } = await openAws({ entriesBytesMax: 1_000 });
    const put = (detailBytes: number, fields: object = {}) => {
      const Detail = detailOf(detailBytes);
      const entry = { EventBusName: 'not counted', Source: 'é', DetailType: 'xy', Detail, ...fields };
      return events.send(new PutEventsCommand({ Entries: [entry] })).then(
        () => 'accepted',
        (error: Error) => error.name,
      );
    };

    expect(await put(995)).toBe('accepted');
    expect(await put(996)).toBe('ValidationException');
    expect(await put(981, { Time: new Date() })).toBe('accepted');
    expect(await put(982, { Time: new Date() })).toBe('ValidationException');
    expect(await put(992, { Resources: ['abc'] })).toBe('accepted');
    expect(await put(993, { Resources: ['abc'] })).toBe('ValidationException');
  });

  test('refuses 256 KiB in all by default', async () => {
    const { events } = await openAws();
    const Entries = [anEntry({ Detail: detailOf(131_072) }), anEntry({ Detail: detailOf(131_072) })];

    await expect(events.send(new PutEventsCommand({ Entries }))).rejects.toMatchObject({
      name: 'ValidationException',
    });
  });
});

describe('rules and buses through the real client', () => {
  test('PutRule refuses an invalid pattern with the error name of AWS', async () => {
    const { events } = await openAws();
    const rule = new PutRuleCommand({ Name: 'rule', EventPattern: '{"source":"scalar"}' });

    await expect(events.send(rule)).rejects.toMatchObject({
      name: 'InvalidEventPatternException',
      message: expect.stringContaining('Event pattern is not valid. Reason: '),
    });
  });

  test('PutRule changes the pattern of a rule and keeps the targets that code added', async () => {
    const { aws, events } = await openAws();
    const delivered = collect(aws, { source: ['test'] });
    const EventPattern = '{"source":["other"]}';
    await events.send(new PutRuleCommand({ Name: 'collect', EventBusName: 'bus', EventPattern }));
    const Entries = [anEntry(), anEntry({ Source: 'other' })];
    await events.send(new PutEventsCommand({ Entries }));
    await aws.bus.idle();

    expect(delivered.map(({ source }) => source)).toEqual(['other']);
  });

  test('PutRule refuses a bus that does not exist, and a rule without a pattern', async () => {
    const { events } = await openAws();
    const lost = { Name: 'rule', EventBusName: 'nowhere', EventPattern: '{"source":["x"]}' };

    await expect(events.send(new PutRuleCommand(lost))).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
    await expect(events.send(new PutRuleCommand({ Name: 'rule' }))).rejects.toMatchObject({
      name: 'ValidationException',
    });
  });

  test('CreateEventBus refuses a name that exists', async () => {
    const { aws, events } = await openAws();
    const create = () => events.send(new CreateEventBusCommand({ Name: 'new' }));

    expect((await create()).EventBusArn).toMatch(/event-bus\/new$/);
    expect(aws.bus.hasBus('new')).toBe(true);
    await expect(create()).rejects.toMatchObject({ name: 'ResourceAlreadyExistsException' });
  });

  test('TestEventPattern answers whether an event matches', async () => {
    const { events } = await openAws();
    const ask = (EventPattern: string, Event = '{"source":"test"}') =>
      events.send(new TestEventPatternCommand({ EventPattern, Event }));

    expect((await ask('{"source":["test"]}')).Result).toBe(true);
    expect((await ask('{"source":["other"]}')).Result).toBe(false);
    await expect(ask('{}')).rejects.toMatchObject({ name: 'InvalidEventPatternException' });
    await expect(ask('{"source":["x"]}', 'no json')).rejects.toMatchObject({ name: 'ValidationException' });
  });
});
