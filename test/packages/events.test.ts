import { Webhook } from 'standardwebhooks';
import { describe, expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import type { BridgeEventDetails } from '../../infra/packages/events/event-details.ts';
import {
  eventSchemas,
  parseBridgeEvent,
  SignatureError,
  verifySignature,
} from '../../infra/packages/events/operations-bridge-events.ts';
import { eventCatalog, operationStateChanged } from '../../shared/events/catalog.ts';

const anEvent = (fields: object = {}) => ({
  source: 'operations-bridge',
  'detail-type': 'Operation State Changed',
  detail: operationStateChanged.example,
  ...fields,
});

describe('parseBridgeEvent', () => {
  test.each(eventCatalog)('parses $detailType', ({ detailType, example }) => {
    expect(
      parseBridgeEvent({ source: 'operations-bridge', 'detail-type': detailType, detail: example }),
    ).toEqual({ detailType, detail: example, replayName: undefined, isTest: false });
  });

  test('names the replay of an event', () => {
    expect(parseBridgeEvent(anEvent({ 'replay-name': 'r' }))?.replayName).toBe('r');
    const resources = ['operations-bridge/replay/1'];
    expect(parseBridgeEvent(anEvent({ resources }))?.replayName).toBe(resources[0]);
    expect(parseBridgeEvent(anEvent({ resources: [] }))?.replayName).toBeUndefined();
  });

  test.each([
    [anEvent({ source: 'aws.ec2' })],
    [anEvent({ 'detail-type': 'Of The Future' })],
    [anEvent({ 'detail-type': 'toString' })],
    [{}],
    [null],
    ['x'],
  ])('returns undefined for %j, which is no event that it knows', (other) => {
    expect(parseBridgeEvent(other)).toBeUndefined();
  });

  test('returns a test event only when it is asked to, and marks it', () => {
    const sample = anEvent({ source: 'operations-bridge.test' });

    expect(parseBridgeEvent(sample)).toBeUndefined();
    expect(parseBridgeEvent(sample, { testEvents: 'accepted' })).toMatchObject({
      isTest: true,
      detail: sample.detail,
    });
    expect(parseBridgeEvent(anEvent(), { testEvents: 'accepted' })?.isTest).toBe(false);
  });

  test.each(
    eventCatalog.flatMap((definition) =>
      Object.entries(definition.detail.shape)
        .filter(([, type]) => JSON.stringify(z.toJSONSchema(type)).includes('"examples"'))
        .map(([field]) => [definition.detailType, field, definition.example] as const),
    ),
  )('carries a value along that is newer than the package: %s, %s', (detailType, field, example) => {
    const value =
      field === 'usual_duration'
        ? { basis: 'of_the_future', operation_count: 20, p50_ms: 1, p95_ms: 2, p99_ms: 3 }
        : 'of_the_future';
    const detail = { ...example, [field]: value };

    expect(parseBridgeEvent(anEvent({ 'detail-type': detailType, detail }))?.detail).toEqual(detail);
  });

  test('leaves out new fields, and throws when a field is missing', () => {
    const { detail } = anEvent();

    expect(parseBridgeEvent(anEvent({ detail: { ...detail, of_the_future: 1 } }))?.detail).toEqual(detail);
    expect(() => parseBridgeEvent(anEvent({ detail: { ...detail, operation_id: undefined } }))).toThrow(
      /operation_id/,
    );
  });

  test('returns an event whose detail type narrows the fields for the compiler, too', () => {
    const event = parseBridgeEvent(anEvent());

    if (event?.detailType !== 'Operation State Changed') throw new Error('The event has another detail type');
    expect(event.detail.sequence).toBe(operationStateChanged.example.sequence);
  });
});

test('the declared types of the events are exactly those of their schemas', () => {
  type Definition = (typeof eventCatalog)[number];
  type Inferred = {
    [Type in Definition['detailType']]: z.output<Extract<Definition, { detailType: Type }>['detail']>;
  };

  expectTypeOf<BridgeEventDetails>().toEqualTypeOf<Inferred>();
  expect(Object.keys(eventSchemas)).toEqual(eventCatalog.map(({ detailType }) => detailType));
});

test.each(eventCatalog)(
  'the schema of the package checks of $detailType what its definition checks',
  ({ detailType, detail }) => {
    expect(checksOf(eventSchemas[detailType])).toEqual(checksOf(detail));
  },
);

/** A list of types and alternatives of one type each mean the same. */
function withTypes({ anyOf, ...rest }: Record<string, unknown>): object {
  if (!Array.isArray(anyOf)) return { ...rest, ...(anyOf !== undefined && { anyOf }) };
  return { ...rest, type: anyOf.map(({ type }: { type: unknown }) => type) };
}

/** Descriptions and known values of open sets are in the types, and check nothing. */
function checksOf(type: z.ZodType): unknown {
  const isCheck = (key: string) => !['description', 'examples'].includes(key);
  return JSON.parse(JSON.stringify(z.toJSONSchema(type, { io: 'input' })), (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const checks = Object.entries(value).filter(([key]) => isCheck(key));
    return withTypes(Object.fromEntries(checks));
  });
}

describe('verifySignature', () => {
  const secret = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;
  const otherSecret = `whsec_${Buffer.from('another secret of 32 bytes......').toString('base64')}`;
  const body = JSON.stringify({ hello: 'wörld' });

  const signed = (signedAt = new Date(), by = secret) => ({
    'Webhook-Id': 'evt_1',
    'Webhook-Timestamp': String(Math.floor(signedAt.getTime() / 1_000)),
    'Webhook-Signature': new Webhook(by).sign('evt_1', signedAt, body),
  });

  test.each([
    ['an object as Node and Lambda give it', signed()],
    ['headers of fetch', new Headers(signed())],
    ['headers with lists and gaps', { ...signed(), 'set-cookie': ['a', 'b'], 'x-absent': undefined }],
  ])('returns the body of a genuine request, from %s', (_kind, headers) => {
    expect(verifySignature(body, headers, secret)).toEqual({ hello: 'wörld' });
    expect(verifySignature(Buffer.from(body), headers, secret)).toEqual({ hello: 'wörld' });
  });

  test('accepts each of several secrets, so that a secret can be changed without a pause', () => {
    expect(verifySignature(body, signed(), [otherSecret, secret])).toEqual({ hello: 'wörld' });
    expect(verifySignature(body, signed(new Date(), otherSecret), [otherSecret, secret])).toBeDefined();
  });

  test.each([
    ['another body', `${body} `, signed(), secret],
    ['another secret', body, signed(), otherSecret],
    ['no secret', body, signed(), []],
    ['no headers', body, {}, secret],
    ['a request of six minutes ago', body, signed(new Date(Date.now() - 360_000)), secret],
    ['another id', body, { ...signed(), 'Webhook-Id': 'evt_2' }, secret],
  ])('refuses %s', (_what, text, headers, secrets) => {
    expect(() => verifySignature(text, headers, secrets)).toThrow(SignatureError);
  });

  test('says that a secret cannot be used instead of refusing the request', () => {
    expect(() => verifySignature(body, signed(), 'whsec_')).toThrow(/empty/);
  });
});
