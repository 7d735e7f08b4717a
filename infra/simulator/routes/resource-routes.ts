/**
 * Handles the calls of resources without a life of their own: what a caller puts there is kept and shown, and nothing
 * else happens. They stand in tables: answers that never change, documents, and collections of rows.
 */

import * as z from 'zod';
import type { Random } from '../../../shared/runtime/random.ts';
import { type AnyCallId, allCalls } from '../../../shared/upstream/calls/calls.ts';
import { drawSecret, drawUuid } from '../world/names.ts';
import type { World } from '../world/world.ts';
import { inOrganization } from './account-routes.ts';
import { restoreFrom, restoreSnapshotBody } from './branch-routes.ts';
import {
  type Handler,
  type Handlers,
  inBranch,
  inProject,
  refusal,
  type UpstreamContext,
  withBody,
} from './requests.ts';
import { wholeSeconds } from './rows.ts';

/** The simulated databases are empty, run no functions and write no logs. */
const FIXED = {
  listFunctions: { functions: [] },
  listObjects: { folders: [], objects: [], prefix: '', is_truncated: false },
  listLogFields: { fields: [] },
  listLogFieldValues: { values: [], is_truncated: false },
  queryLogs: { logs: [], is_truncated: false },
  getSchema: { sql: '' },
  compareSchemas: { diff: '' },
  getProjectAdvice: { issues: [] },
  listPreloadLibraries: { libraries: [] },
  getStorage: {
    enabled: true,
    s3_endpoint: 'https://s3.service.example',
    region: 'us-east-2',
    force_path_style: true,
  },
  getAiGateway: { enabled: false, base_url: 'https://ai.service.example' },
  listOrganizationVpcEndpoints: { endpoints: [] },
} as const satisfies Readonly<Partial<Record<AnyCallId, object>>>;

type Row = Readonly<Record<string, unknown>>;

/** What a new row is made of, beside its body. */
interface Making {
  readonly ids: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly now: string;
  readonly uuid: () => string;
  readonly secret: () => string;
}

interface Collection {
  /** Lists the rows, in a member of this name. Rows belong to the ids in the path of this call. */
  readonly list: readonly [AnyCallId, string];
  /** These calls show one row, in a member of this name, or the row itself when the name is empty. */
  readonly one: string;
  /** The row is found by this field, under this parameter of a path. */
  readonly key: readonly [field: string, parameter: string];
  /** A body without these fields is refused. */
  readonly required?: readonly string[];
  readonly create: AnyCallId;
  readonly make: (body: Row, making: Making) => Row;
  readonly get?: AnyCallId;
  readonly update?: AnyCallId;
  readonly remove: AnyCallId;
  /** This call begins something with a row. */
  readonly use?: readonly [AnyCallId, (find: (c: UpstreamContext) => Row | undefined) => Handler];
  /** The creation shows these secrets, `reveal` shows them again, and `rotate` draws others. No list shows them. */
  readonly secrets?: (making: Making) => Row;
  readonly reveal?: AnyCallId;
  readonly rotate?: AnyCallId;
}

const COLLECTIONS: readonly Collection[] = [
  {
    list: ['listSnapshots', 'snapshots'],
    one: 'snapshot',
    key: ['id', 'snapshot_id'],
    create: 'createSnapshot',
    make: (_body, { ids, query, now, uuid }) => ({
      id: `snap-${uuid()}`,
      name: query['name'] ?? `snapshot of ${now}`,
      source_branch_id: ids['branch_id'],
      created_at: now,
      ...(query['expires_at'] !== undefined && { expires_at: query['expires_at'] }),
      manual: true,
    }),
    update: 'updateSnapshot',
    remove: 'deleteSnapshot',
    use: [
      'restoreSnapshot',
      (find) =>
        withBody(restoreSnapshotBody, (c, body) => {
          const snapshot = find(c);
          return snapshot === undefined
            ? refusal(c, 404, 'snapshot not found')
            : restoreFrom(c, snapshot, body);
        }),
    ],
  },
  {
    list: ['listBuckets', 'buckets'],
    one: 'bucket',
    key: ['name', 'bucket_name'],
    required: ['name'],
    create: 'createBucket',
    make: ({ name, access_level = 'private' }, { now }) => ({ name, access_level, created_at: now }),
    remove: 'deleteBucket',
  },
  {
    list: ['listCredentials', 'credentials'],
    one: '',
    key: ['token_id', 'token_id'],
    required: ['scopes'],
    create: 'createCredential',
    make: ({ name, scopes, principal_type = 'user' }, { ids, now, uuid }) => {
      const token_id = uuid();
      const token_id_short = token_id.slice(0, 8);
      return {
        token_id,
        token_id_short,
        name,
        scopes,
        principal_type,
        branch_id: ids['branch_id'],
        created_at: now,
      };
    },
    remove: 'revokeCredential',
    reveal: 'revealCredential',
    rotate: 'rotateCredential',
    secrets: ({ secret }) => ({ api_token: secret(), s3_secret_access_key: secret() }),
  },
  {
    list: ['listCustomDomains', 'custom_domains'],
    one: '',
    key: ['domain', 'domain'],
    required: ['domain', 'entity_type', 'entity_id'],
    create: 'addCustomDomain',
    make: ({ domain, entity_type, entity_id }) => ({
      domain,
      entity_type,
      entity_id,
      cname_target: 'domains.service.example',
      status: 'pending',
    }),
    remove: 'deleteCustomDomain',
  },
  {
    list: ['listJwks', 'jwks'],
    one: 'jwks',
    key: ['id', 'jwks_id'],
    required: ['jwks_url', 'provider_name'],
    create: 'addJwks',
    make: (body, { ids, now, uuid }) => ({
      ...body,
      id: uuid(),
      project_id: ids['project_id'],
      created_at: now,
      updated_at: now,
    }),
    remove: 'deleteJwks',
  },
  {
    list: ['listVpcEndpoints', 'endpoints'],
    one: '',
    key: ['vpc_endpoint_id', 'vpc_endpoint_id'],
    required: ['label'],
    create: 'assignVpcEndpoint',
    make: ({ label }, { ids }) => ({ vpc_endpoint_id: ids['vpc_endpoint_id'], label }),
    remove: 'deleteVpcEndpoint',
  },
  {
    list: ['listTriggers', 'triggers'],
    one: 'trigger',
    key: ['trigger_id', 'trigger_id'],
    required: ['type', 'name', 'function_slug'],
    create: 'createTrigger',
    make: (body, { uuid }) => ({
      function_path: '/',
      enabled: true,
      ...body,
      trigger_id: uuid(),
      version: 1,
      inherited: false,
      ...(body['type'] === 'schedule' && { next_run_at: null }),
    }),
    get: 'getTrigger',
    update: 'updateTrigger',
    remove: 'deleteTrigger',
  },
  {
    list: ['listRegionVpcEndpoints', 'endpoints'],
    one: '',
    key: ['vpc_endpoint_id', 'vpc_endpoint_id'],
    create: 'assignOrganizationVpcEndpoint',
    make: ({ label = '' }, { ids }) => ({
      vpc_endpoint_id: ids['vpc_endpoint_id'],
      label,
      state: 'new',
      num_restricted_projects: 0,
      example_restricted_projects: [],
    }),
    get: 'getOrganizationVpcEndpoint',
    remove: 'deleteOrganizationVpcEndpoint',
  },
];

interface Document {
  readonly get: AnyCallId;
  readonly set: AnyCallId;
  /** Without a value the document is not there until it is set. */
  readonly initial?: Row;
  readonly create?: AnyCallId;
  readonly remove?: AnyCallId;
  readonly make?: (body: Row, ids: Readonly<Record<string, string>>) => Row;
}

const DOCUMENTS: readonly Document[] = [
  { get: 'getBackupSchedule', set: 'setBackupSchedule', initial: { schedule: [] } },
  { get: 'getMaskingRules', set: 'updateMaskingRules', initial: { masking_rules: [] } },
  {
    get: 'getSpendingLimit',
    set: 'setSpendingLimit',
    remove: 'deleteSpendingLimit',
    initial: { spending_limit_cents: null },
  },
  {
    get: 'getDataApi',
    set: 'updateDataApi',
    create: 'createDataApi',
    remove: 'deleteDataApi',
    make: ({ settings = {} }, ids) => ({
      url: `https://${ids['branch_id']}.data.service.example/${ids['database_name']}/rest/v1`,
      status: 'active',
      settings,
      available_schemas: ['public'],
    }),
  },
];

/** People have a few of each, so this bound only keeps a world small. */
const ROWS_MAX = 100;

export interface ResourceDeps {
  readonly world: World;
  readonly idDice: Random;
}

export function resourceHandlers(deps: ResourceDeps): Handlers {
  const fixed = Object.entries(FIXED).map(([id, answer]) => [id, within((c) => c.json(answer))]);
  const collections = COLLECTIONS.map((collection) => collectionHandlers(deps, collection));
  const documents = DOCUMENTS.map((document) => documentHandlers(document));
  return Object.assign({}, Object.fromEntries(fixed), ...collections, ...documents) as Handlers;
}

/** Answers 404 unless everything that the path names exists and the key may see it. */
function within(act: Handler): Handler {
  return (c) => {
    const found = () => c.body(null);
    const { org_id, branch_id } = c.req.param();
    const place = org_id !== undefined ? inOrganization : branch_id !== undefined ? inBranch : inProject;
    const answer = place(c, found);
    return answer.status >= 400 ? answer : act(c);
  };
}

const anyBody = z.record(z.string(), z.unknown());

/** Two calls are about the same rows when the ids in the path of the first one are the same. */
function placeOf(c: UpstreamContext, id: AnyCallId): string {
  const names = [...allCalls[id].path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => c.req.param(name));
  return names.join(' ');
}

function collectionHandlers({ world, idDice }: ResourceDeps, collection: Collection): Handlers {
  const { list, one, key, required = [], create, make, get, update, remove } = collection;
  const { use, secrets, reveal, rotate } = collection;
  const kept = new Map<string, readonly Row[]>();
  const hidden = new WeakMap<Row, Row>();
  const rowsOf = (c: UpstreamContext) => kept.get(placeOf(c, list[0])) ?? [];
  const keep = (c: UpstreamContext, rows: readonly Row[]) => void kept.set(placeOf(c, list[0]), rows);
  const makingOf = (c: UpstreamContext): Making => ({
    ids: c.req.param(),
    query: c.req.query(),
    now: wholeSeconds(world.nowMs),
    uuid: () => drawUuid(idDice),
    secret: () => drawSecret(idDice),
  });
  const show = (c: UpstreamContext, row: Row, id: AnyCallId): Response => {
    const { status, answer } = allCalls[id];
    if (status === 204 || answer instanceof z.ZodUndefined) return c.body(null, status);
    if (one === '') return c.json(row, status);
    return c.json({ ...(id === remove ? row : { [one]: row }), operations: [] }, status);
  };
  const rowOf = (c: UpstreamContext) => rowsOf(c).find((each) => each[key[0]] === c.req.param(key[1]));
  const withRow = (act: (c: UpstreamContext, row: Row) => Response) =>
    within((c) => {
      const row = rowOf(c);
      return row === undefined ? refusal(c, 404, `${list[1].replace(/s$/, '')} not found`) : act(c, row);
    });
  const shownWith = (secretsOf: (c: UpstreamContext, row: Row) => Row | undefined, id: AnyCallId) =>
    withRow((c, row) => {
      const shown = secretsOf(c, row) ?? {};
      hidden.set(row, shown);
      return show(c, { ...row, ...shown }, id);
    });
  return {
    [list[0]]: within((c) => c.json({ [list[1]]: rowsOf(c) })),
    [create]: within(
      withBody(anyBody, (c, body) => {
        const missing = required.find((name) => body[name] === undefined);
        if (missing !== undefined) return refusal(c, 400, `invalid request: ${missing}: field required`);
        const row = make(body, makingOf(c));
        const others = rowsOf(c);
        if (others.some((each) => each[key[0]] === row[key[0]])) return refusal(c, 409, 'it already exists');
        if (others.length >= ROWS_MAX) return refusal(c, 422, `there can be ${ROWS_MAX} at most`);
        keep(c, [...others, row]);
        const shown = secrets?.(makingOf(c)) ?? {};
        hidden.set(row, shown);
        return show(c, { ...row, ...shown }, create);
      }),
    ),
    ...(get && { [get]: withRow((c, row) => show(c, row, get)) }),
    ...(use && { [use[0]]: within(use[1](rowOf)) }),
    ...(update && {
      [update]: within(
        withBody(anyBody, (c, body) => {
          const row = rowOf(c);
          if (row === undefined) return refusal(c, 404, `${one} not found`);
          const next = { ...row, ...((body[one] ?? body) as Row) };
          keep(
            c,
            rowsOf(c).map((each) => (each === row ? next : each)),
          );
          return show(c, next, update);
        }),
      ),
    }),
    [remove]: withRow((c, row) => {
      keep(
        c,
        rowsOf(c).filter((each) => each !== row),
      );
      return show(c, row, remove);
    }),
    ...(reveal && { [reveal]: shownWith((_c, row) => hidden.get(row), reveal) }),
    ...(rotate && { [rotate]: shownWith((c) => secrets?.(makingOf(c)), rotate) }),
  };
}

function documentHandlers({ get, set, initial, create, remove, make }: Document): Handlers {
  const kept = new Map<string, Row>();
  const find = (c: UpstreamContext) => kept.get(placeOf(c, get)) ?? initial;
  const absent = (c: UpstreamContext) => refusal(c, 404, 'not found');
  const put = (id: AnyCallId, from: (c: UpstreamContext, body: Row) => Row | undefined) =>
    within(
      withBody(anyBody, (c, body) => {
        const next = from(c, body);
        if (next === undefined) return absent(c);
        kept.set(placeOf(c, get), next);
        return c.json(next, allCalls[id].status === 201 ? 201 : 200);
      }),
    );
  return {
    [get]: within((c) => {
      const found = find(c);
      return found === undefined ? absent(c) : c.json(found);
    }),
    [set]: put(set, (c, body) => {
      const before = find(c);
      return before && { ...before, ...body };
    }),
    ...(create && { [create]: put(create, (c, body) => make?.(body, c.req.param())) }),
    ...(remove && {
      [remove]: within((c) => {
        if (find(c) === undefined) return absent(c);
        kept.delete(placeOf(c, get));
        return c.json({});
      }),
    }),
  };
}
