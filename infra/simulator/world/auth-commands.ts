/**
 * Defines what users can do with an auth integration; each command is a pure step from one state to the next. It
 * reads origins (RFC 6454) and e-mail addresses in all their valid spellings (RFC 5321, RFC 6531).
 */

import { isIPv4, isIPv6 } from 'node:net';
import { DEFAULT_DATABASE } from './branch.ts';
import {
  type AuthIntegration,
  type AuthState,
  type EmailServer,
  NO_AUTH,
  type OauthProvider,
} from './project-state.ts';

/** The public contract knows these providers. */
export const AUTH_PROVIDERS = ['mock', 'stack', 'better_auth'] as const;

/** The one provider that the specification supports has this name in the public contract. */
export const SPECIFIED_PROVIDER = 'stack';

export type AuthOutcome<Value> =
  | { readonly kind: 'done'; readonly next: AuthState; readonly value: Value }
  | AuthRefusal;

interface AuthRefusal {
  readonly kind: 'refused';
  readonly status: 400 | 404 | 409;
  readonly message: string;
}

/** The caller draws ids and keys, so that the commands stay pure. */
export interface Drawn {
  readonly id: string;
  readonly secret: string;
  readonly publicKey: string;
}

export interface SdkKeySet {
  readonly auth_provider: string;
  readonly auth_provider_project_id: string;
  readonly pub_client_key: string;
  readonly secret_server_key: string;
  readonly jwks_url: string;
  readonly schema_name: string;
  readonly table_name: string;
}

export function createIntegration(
  state: AuthState,
  request: {
    readonly auth_provider: string;
    readonly branch_id: string;
    readonly database_name?: string | undefined;
  },
  { drawn, createdAt }: { readonly drawn: Drawn; readonly createdAt: string },
): AuthOutcome<SdkKeySet> {
  if (state.integration !== undefined) return refused(409, 'auth integration already exists');
  const { auth_provider } = request;
  const integration = {
    auth_provider,
    auth_provider_project_id: drawn.id,
    branch_id: request.branch_id,
    db_name: request.database_name ?? DEFAULT_DATABASE,
    created_at: createdAt,
    owned_by: 'neon' as const,
    jwks_url: `https://auth.service.example/api/v1/projects/${drawn.id}/.well-known/jwks.json`,
  };
  const providers: readonly OauthProvider[] = ['google', 'github'].map((id) => ({ id, type: 'shared' }));
  const domains = [{ domain: 'http://localhost', auth_provider }];
  const next = { ...NO_AUTH, integration, providers, domains };
  return { kind: 'done', next, value: keySet(next, drawn) };
}

export function createKeys(state: AuthState, drawn: Drawn): AuthOutcome<SdkKeySet> {
  return withIntegration(state, () => ({ kind: 'done', next: state, value: keySet(state, drawn) }));
}

/** The new user is in the users table at once. */
export function createUser(
  state: AuthState,
  request: { readonly email: string; readonly name?: string | undefined },
  { drawn, createdAt }: { readonly drawn: Drawn; readonly createdAt: string },
): AuthOutcome<{ readonly id: string }> {
  return withIntegration(state, () => {
    const { email, name = null } = request;
    const address = canonicalEmailAddress(email);
    if (state.users.some((user) => canonicalEmailAddress(user.email) === address))
      return refused(409, 'user already exists');
    const user = { id: drawn.id, email, name, created_at: createdAt };
    return { kind: 'done', next: { ...state, users: [...state.users, user] }, value: { id: user.id } };
  });
}

export function deleteUser(state: AuthState, userId: string): AuthOutcome<undefined> {
  return withIntegration(state, () => {
    const users = state.users.filter(({ id }) => id !== userId);
    if (users.length === state.users.length) return refused(404, 'user not found');
    return { kind: 'done', next: { ...state, users }, value: undefined };
  });
}

/** Takes step one of two: the new owner opens the answer's URL in a browser and confirms there. */
export function startTransfer(state: AuthState, code: string): AuthOutcome<string> {
  return withIntegration(state, (integration) => ({
    kind: 'done',
    next: {
      ...state,
      integration: { ...integration, transfer_status: 'initiated' },
      transferCodes: [...state.transferCodes, code],
    },
    value: code,
  }));
}

/** Takes step two: a code confirms one transfer only. The project stays reachable from the service's side. */
export function confirmTransfer(state: AuthState, code: string): AuthOutcome<undefined> {
  const { integration, transferCodes } = state;
  if (integration === undefined || !transferCodes.includes(code)) return refused(404, 'transfer not found');
  const transferred = { ...integration, owned_by: 'user', transfer_status: 'finished' } as const;
  return { kind: 'done', next: { ...state, integration: transferred, transferCodes: [] }, value: undefined };
}

export function deleteIntegration(state: AuthState): AuthOutcome<undefined> {
  return withIntegration(state, () => ({ kind: 'done', next: NO_AUTH, value: undefined }));
}

type Credentials = Partial<Pick<OauthProvider, 'client_id' | 'client_secret'>>;

export function addProvider(
  state: AuthState,
  { id, ...credentials }: { readonly id: string } & Credentials,
): AuthOutcome<OauthProvider> {
  return withIntegration(state, () => {
    if (state.providers.some((provider) => provider.id === id))
      return refused(409, 'oauth provider already exists');
    const provider = providerOf(id, credentials);
    if (provider === undefined) return refused(400, BOTH_OR_NONE);
    return { kind: 'done', next: { ...state, providers: [...state.providers, provider] }, value: provider };
  });
}

export function updateProvider(
  state: AuthState,
  { id, ...credentials }: { readonly id: string } & Credentials,
): AuthOutcome<OauthProvider> {
  return withIntegration(state, () => {
    const before = state.providers.find((provider) => provider.id === id);
    if (before === undefined) return refused(404, 'oauth provider not found');
    const given = Object.fromEntries(Object.entries(credentials).filter(([, value]) => value !== undefined));
    const { client_id, client_secret } = { ...before, ...given } as OauthProvider;
    const provider = providerOf(id, { client_id, client_secret });
    if (provider === undefined) return refused(400, BOTH_OR_NONE);
    const providers = state.providers.map((each) => (each.id === id ? provider : each));
    return { kind: 'done', next: { ...state, providers }, value: provider };
  });
}

export function deleteProvider(state: AuthState, id: string): AuthOutcome<undefined> {
  return withIntegration(state, () => {
    const providers = state.providers.filter((provider) => provider.id !== id);
    if (providers.length === state.providers.length) return refused(404, 'oauth provider not found');
    return { kind: 'done', next: { ...state, providers }, value: undefined };
  });
}

export function addDomain(state: AuthState, domain: string): AuthOutcome<undefined> {
  return withIntegration(state, ({ auth_provider }) => {
    const origin = canonicalOrigin(domain);
    if (state.domains.some((each) => canonicalOrigin(each.domain) === origin))
      return refused(409, 'domain already exists');
    const domains = [...state.domains, { domain, auth_provider }];
    return { kind: 'done', next: { ...state, domains }, value: undefined };
  });
}

/** Deletes all of the domains, or none when one of them is unknown. */
export function deleteDomains(state: AuthState, domains: readonly string[]): AuthOutcome<undefined> {
  return withIntegration(state, () => {
    const known = new Set(state.domains.map(({ domain }) => canonicalOrigin(domain)));
    const named = new Set(domains.map(canonicalOrigin));
    if ([...named].some((origin) => origin === undefined || !known.has(origin)))
      return refused(404, 'domain not found');
    const left = state.domains.filter(({ domain }) => !named.has(canonicalOrigin(domain)));
    return { kind: 'done', next: { ...state, domains: left }, value: undefined };
  });
}

export function updateEmailServer(state: AuthState, emailServer: EmailServer): AuthOutcome<EmailServer> {
  return withIntegration(state, () => ({
    kind: 'done',
    next: { ...state, emailServer },
    value: emailServer,
  }));
}

const BOTH_OR_NONE = 'invalid request: client_id and client_secret must be given together';

/** A provider without credentials of its own uses the keys of the service. */
function providerOf(id: string, { client_id, client_secret }: Credentials): OauthProvider | undefined {
  if (client_id === undefined && client_secret === undefined) return { id, type: 'shared' };
  if (client_id === undefined || client_secret === undefined) return undefined;
  return { id, type: 'standard', client_id, client_secret };
}

function keySet({ integration }: AuthState, { secret, publicKey }: Drawn): SdkKeySet {
  return {
    auth_provider: integration?.auth_provider ?? '',
    auth_provider_project_id: integration?.auth_provider_project_id ?? '',
    pub_client_key: publicKey,
    secret_server_key: secret,
    jwks_url: integration?.jwks_url ?? '',
    schema_name: 'auth',
    table_name: 'users_sync',
  };
}

function withIntegration<Value>(
  { integration }: AuthState,
  act: (integration: AuthIntegration) => AuthOutcome<Value>,
): AuthOutcome<Value> {
  return integration === undefined ? refused(404, 'auth integration not found') : act(integration);
}

function refused(status: 400 | 404 | 409, message: string): AuthRefusal {
  return { kind: 'refused', status, message };
}

/** A name before the @ is words with single dots between them, or any text in quotes. */
const DOT_STRING =
  /^[\w!#$%&'*+/=?^`{|}~\u{80}-\u{10ffff}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\u{80}-\u{10ffff}-]+)*$/u;
const QUOTED_STRING = /^"(?:[ !#-[\]-~\u{80}-\u{10ffff}]|\\[ -~])*"$/u;

/** A label of a domain neither begins nor ends with a hyphen. */
const LABEL = /^[a-z0-9\u{80}-\u{10ffff}](?:[a-z0-9\u{80}-\u{10ffff}-]*[a-z0-9\u{80}-\u{10ffff}])?$/iu;

const LOCAL_PART_BYTES_MAX = 64;
const DOMAIN_BYTES_MAX = 255;
const LABEL_BYTES_MAX = 63;

/**
 * Returns the spelling by which two addresses are compared: only the domain has no case, because the receiving host
 * alone may interpret the name before the @ (RFC 5321, section 2.4). Returns undefined when the text is no address.
 */
export function canonicalEmailAddress(text: string): string | undefined {
  // A quoted name may contain an @, and a domain may not.
  const place = text.lastIndexOf('@');
  const localPart = text.slice(0, Math.max(0, place));
  const domain = text.slice(place + 1);
  if (!isLocalPart(localPart) || !isDomain(domain)) return undefined;
  return `${localPart}@${domain.toLowerCase()}`;
}

function isLocalPart(text: string): boolean {
  return (DOT_STRING.test(text) || QUOTED_STRING.test(text)) && isWithin(text, LOCAL_PART_BYTES_MAX);
}

function isDomain(text: string): boolean {
  const literal = /^\[(?:IPv6:)?([^\]]*)\]$/i.exec(text)?.[1];
  if (literal !== undefined) return /^\[IPv6:/i.test(text) ? isIPv6(literal) : isIPv4(literal);
  return isWithin(text, DOMAIN_BYTES_MAX) && text.split('.').every(isLabel);
}

function isLabel(text: string): boolean {
  return LABEL.test(text) && isWithin(text, LABEL_BYTES_MAX);
}

function isWithin(text: string, bytesMax: number): boolean {
  return Buffer.byteLength(text) <= bytesMax;
}

/** Nothing may follow the host and its port, and no user may stand before them. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\]+$/i;

/**
 * Returns the one spelling by which two origins are compared: lower case, in ASCII, without the scheme's default port.
 * Returns undefined when the text is no origin.
 */
export function canonicalOrigin(text: string): string | undefined {
  const url = ORIGIN.test(text) ? URL.parse(text) : null;
  if (url === null || url.host === '') return undefined;
  return `${url.protocol}//${url.host}`.toLowerCase();
}
