/** Tests a project that cannot be read for long: it is announced once, named by health with its age, and still polled. */

import { describe, expect, test } from 'vitest';
import { decideHealth } from '../../functions/api/bridge/health-routes.ts';
import { readAccountStatus } from '../../shared/store/account-status-store.ts';
import { projectKey } from '../../shared/store/keys.ts';
import { anOperation } from '../builders.ts';
import { START_MS } from '../simulation/close-stage.ts';
import { anAccount, PROJECT_ID } from './account-under-test.ts';

const MINUTE_MS = 60_000;
const BAD_ID = 'bad-luck-12345678';
const NOTHING_UNSENT = { count: 0, oldest_at: undefined };
type Account = ReturnType<typeof anAccount>;

function withABadProject(...further: readonly string[]): Account {
  const account = anAccount();
  account.script.projectIds = [PROJECT_ID, BAD_ID, ...further];
  account.script.fails = ({ name, projectId }) =>
    name === 'operations' && projectId === BAD_ID ? 'unavailable' : undefined;
  return account;
}

/** Runs invocations of a minute, as the schedule does. */
async function pollMinutes({ poll }: Account, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute++) await poll(MINUTE_MS);
}

const healthOfAccount = async ({ table, nowMs }: Account) =>
  decideHealth({
    status: await readAccountStatus(table, 'main'),
    unpublished: NOTHING_UNSENT,
    nowMs: nowMs(),
  });
const eventsAbout = ({ events }: Account, type: string) => events().filter((event) => event['type'] === type);

describe('a project whose operations cannot be read', () => {
  test('is named by health after three minutes, with its age and the reason', async () => {
    const account = withABadProject();
    await pollMinutes(account, 2);
    expect((await healthOfAccount(account)).healthy).toBe(true);
    await pollMinutes(account, 2);

    const { healthy, reasons, unread_projects } = await healthOfAccount(account);

    expect(healthy).toBe(false);
    expect(reasons.join()).toMatch(/bad-luck-12345678 \(2\d\d s, unavailable\)/);
    expect(unread_projects).toMatchObject([{ project_id: BAD_ID, reason: 'unavailable' }]);
  });

  test('is named when it is the only one', async () => {
    const account = withABadProject();
    account.script.projectIds = [BAD_ID];
    await pollMinutes(account, 4);

    expect((await healthOfAccount(account)).reasons.join()).toMatch(BAD_ID);
  });

  test('is published as unreachable once after ten minutes, and is polled on', async () => {
    const account = withABadProject();
    await pollMinutes(account, 9);
    expect(eventsAbout(account, 'Project Unreachable')).toEqual([]);
    await pollMinutes(account, 30);
    account.calls.length = 0;
    await pollMinutes(account, 6);

    expect(eventsAbout(account, 'Project Unreachable')).toMatchObject([
      { project_id: BAD_ID, reason: 'not_read' },
    ]);
    expect(account.calls.filter((call) => call === `operations ${BAD_ID}`).length).toBeGreaterThan(0);
  });

  test('keeps its age across restarts, and is published once however often the process begins anew', async () => {
    const account = withABadProject();
    for (let minute = 0; minute < 25; minute++) {
      await pollMinutes(account, 1);
      account.restart();
    }

    const [unread] = (await healthOfAccount(account)).unread_projects;
    expect(unread?.age_seconds).toBeGreaterThan(24 * 60);
    expect(eventsAbout(account, 'Project Unreachable')).toHaveLength(1);
    expect(eventsAbout(account, 'Project Discovered')).toEqual([]);
  });

  test('is published as discovered once it was read again, and nothing of it is lost', async () => {
    const account = withABadProject();
    await pollMinutes(account, 15);
    account.script.operations = [anOperation({ project_id: BAD_ID })];
    account.script.fails = () => undefined;
    account.restart();
    await pollMinutes(account, 7);

    expect(eventsAbout(account, 'Project Discovered')).toMatchObject([{ project_id: BAD_ID }]);
    expect(account.events().map(({ operation_id }) => operation_id)).toContain(anOperation().id);
    expect((await healthOfAccount(account)).unread_projects).toEqual([]);
    expect(account.table.sync.peek(projectKey('main', BAD_ID))).toMatchObject({
      is_visible: true,
      is_unread: false,
    });
  });

  test('does not make its account count as degraded while others are read', async () => {
    const account = withABadProject();
    await pollMinutes(account, 15);

    expect(eventsAbout(account, 'Account Degraded')).toEqual([]);
  });

  test('is not announced when the whole account cannot be read', async () => {
    const account = withABadProject();
    account.script.fails = ({ name }) => (name === 'operations' ? 'unavailable' : undefined);
    await pollMinutes(account, 30);

    expect(eventsAbout(account, 'Account Degraded')).toHaveLength(1);
    expect(eventsAbout(account, 'Project Unreachable')).toEqual([]);
  });

  test('is not announced at once when it is the last to be read after an outage of all', async () => {
    const account = withABadProject();
    const fails = account.script.fails;
    account.script.fails = () => 'unavailable';
    await pollMinutes(account, 30);
    account.script.fails = fails;
    await pollMinutes(account, 9);
    expect(eventsAbout(account, 'Project Unreachable')).toEqual([]);
    await pollMinutes(account, 12);

    expect(eventsAbout(account, 'Project Unreachable')).toHaveLength(1);
  });

  test('costs no write of its own but that of its event', async () => {
    const account = withABadProject();
    await pollMinutes(account, 3);
    const before = JSON.stringify(account.table.sync.peek(projectKey('main', BAD_ID)));
    await pollMinutes(account, 3);

    expect(JSON.stringify(account.table.sync.peek(projectKey('main', BAD_ID)))).toBe(before);
  });

  test('is named by a warm process, too, that has not tried it since another one failed to read it', async () => {
    const account = anAccount();
    account.script.projectIds = [PROJECT_ID, BAD_ID];
    const warm = account.memory();
    await account.poll(MINUTE_MS, warm);
    const pointCount = (await readAccountStatus(account.table, 'main'))?.points.length ?? 0;
    account.script.fails = ({ projectId }) => (projectId === BAD_ID ? 'unavailable' : undefined);
    account.restart();
    await pollMinutes(account, 5);
    // Now it answers no more, so this process does not learn by itself that it cannot be read.
    const { upstream } = account.deps();
    const { listOperations } = upstream;
    upstream.listOperations = (query, options) =>
      query.projectId === BAD_ID ? new Promise(() => {}) : listOperations(query, options);
    await account.poll(MINUTE_MS, warm);

    const { reasons } = await healthOfAccount(account);
    expect(reasons.join()).toContain(BAD_ID);
    const points = (await readAccountStatus(account.table, 'main'))?.points ?? [];
    expect(points.length).toBeGreaterThan(pointCount + 5);
  });

  test('counts in WalkAgeMs from the time at which it became known, across restarts', async () => {
    const account = withABadProject();
    const ages: number[] = [];
    const pollOne = async () => {
      const measured = { ...account.deps() };
      Object.assign(account.deps(), {
        telemetry: {
          ...measured.telemetry,
          measure: (metric: string, value: number) => void (metric === 'WalkAgeMs' && ages.push(value)),
        },
      });
      await pollMinutes(account, 1);
    };
    for (let minute = 0; minute < 8; minute++) {
      await pollOne();
      if (minute % 3 === 2) account.restart();
    }

    expect(ages).toHaveLength(8);
    expect(ages.at(-1)).toBeGreaterThan(7 * MINUTE_MS);
    expect(ages).toEqual(ages.toSorted((a, b) => a - b));
  });
});

describe('a project that is read in many polls', () => {
  test('is not published as unreachable because of one failure at the end of a long reading', async () => {
    const account = anAccount({ requestsPerMinute: 60 });
    const { script } = account;
    script.pageRowsMax = () => 1;
    script.operations = Array.from({ length: 400 }, (_, place) =>
      anOperation({
        id: `operation-${place}`,
        status: 'finished',
        created_at: new Date(START_MS - place * 1_000).toISOString(),
      }),
    );
    await pollMinutes(account, 15);
    expect(account.logs.filter(({ event }) => event === 'project.read')).toEqual([]);
    script.fails = ({ name }) => (name === 'operations' ? 'unavailable' : undefined);
    await pollMinutes(account, 2);

    expect(eventsAbout(account, 'Project Unreachable')).toEqual([]);
  });
});
