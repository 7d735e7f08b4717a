import { expect, expectTypeOf, onTestFinished, test } from 'vitest';
import {
  type SimulatedUpstreamOptions,
  startUpstream,
  type TrueOperation,
  type UpstreamFaults,
} from '../../infra/packages/testing/operations-bridge-testing.ts';
import type { FaultDials } from '../../infra/simulator/faults.ts';
import type { GroundTruthOperation } from '../../infra/simulator/world/project-state.ts';

const HOUR_MS = 3_600_000;

async function anUpstream(options: SimulatedUpstreamOptions = {}) {
  const upstream = await startUpstream({ speed: 0, startAt: new Date('2026-03-01T12:00:00Z'), ...options });
  onTestFinished(() => upstream.close());
  return upstream;
}

const statusOf = async (
  { baseUrl, apiKey }: { readonly baseUrl: string; readonly apiKey: string },
  key = apiKey,
) => (await fetch(`${baseUrl}/projects`, { headers: { authorization: `Bearer ${key}` } })).status;

test('equal options give an equal world, and another seed gives another', async () => {
  const [one, same, other] = [await anUpstream(), await anUpstream(), await anUpstream({ seed: 2 })];
  for (const each of [one, same, other]) each.passTime(HOUR_MS);

  expect(same.truth()).toEqual(one.truth());
  expect(one.truth().length).toBeGreaterThan(10);
  expect(other.projectIds()).not.toEqual(one.projectIds());
});

test('at speed 0 only passTime moves the time, and what happens meanwhile has happened', async () => {
  const upstream = await anUpstream();
  const before = upstream.truth().length;

  upstream.passTime(2 * HOUR_MS);

  expect(upstream.now()).toEqual(new Date('2026-03-01T14:00:00Z'));
  expect(upstream.truth().length).toBeGreaterThan(before);
});

test('a quiet world does nothing by itself', async () => {
  const upstream = await anUpstream({ sessionsPerHour: 0 });
  const before = upstream.truth();

  upstream.passTime(24 * HOUR_MS);

  expect(upstream.truth()).toEqual(before);
});

test('faults can be asked for and taken back, at the start and later', async () => {
  const upstream = await anUpstream({ faults: { rateLimited: 1, retryAfterSeconds: 7 } });
  expect(await statusOf(upstream)).toBe(429);

  upstream.setFaults({ rateLimited: 0, unavailable: 1 });
  expect(await statusOf(upstream)).toBe(503);

  upstream.setFaults({ unavailable: 0 });
  expect(await statusOf(upstream)).toBe(200);
});

test('keys can be added and revoked', async () => {
  const upstream = await anUpstream({ apiKey: 'mine' });
  expect(await statusOf(upstream, 'another')).toBe(401);

  upstream.addKey('another');
  upstream.revokeKey('mine');

  expect(await statusOf(upstream, 'another')).toBe(200);
  expect(await statusOf(upstream)).toBe(401);
});

test.each([
  [{ project: 3 }, /project/],
  [{ projects: -1 }, /projects/],
  [{ faults: { rateLimited: 2 } }, /rateLimited/],
  [{ faults: { slow: 1 } }, /slow/],
])('says what is wrong with the options %j', async (options, said) => {
  await expect(startUpstream(options as SimulatedUpstreamOptions)).rejects.toThrow(said);
});

test('refuses to move the time back, or by more than 31 days at once', async () => {
  const upstream = await anUpstream();

  expect(() => upstream.passTime(-1)).toThrow(RangeError);
  expect(() => upstream.passTime(32 * 24 * HOUR_MS)).toThrow(RangeError);
});

test('the declared types are those of the simulator', () => {
  expectTypeOf<UpstreamFaults>().toEqualTypeOf<FaultDials>();
  expectTypeOf<TrueOperation>().toEqualTypeOf<GroundTruthOperation>();
});
