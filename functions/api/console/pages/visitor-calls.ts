/**
 * Calls the API's own routes for a visitor: reads what a page shows of the upstream and of the bridge beyond its
 * records, and sends the command of a form. The form must come from a page of the visitor's own session.
 */

import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Caller } from '../../../../shared/callers/scopes.ts';
import { AppError } from '../../../../shared/runtime/errors.ts';
import { parseJson } from '../../../../shared/runtime/foreign-text.ts';
import type { ApiAnswer, Route } from '../../serving/route.ts';
import { simple } from '../html/markup.ts';
import { isFormKey } from '../sign-in/session.ts';
import {
  formOf,
  isOwnOrigin,
  noteVisitorRefusal,
  type RefusalDeps,
  type Visitor,
} from '../sign-in/visitor.ts';
import { noteDone, showPage } from './page.ts';

export interface RouteCall {
  readonly caller: Caller;
  readonly ids: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

export interface RouteDeps {
  readonly routes: readonly Route[];
  readonly call: (route: Route, request: RouteCall) => Promise<ApiAnswer>;
}

export interface Compute {
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly branchId: string;
}

/**
 * Resolves to the parsed body of a success. Resolves to undefined when the caller must not ask, or the upstream gave no usable
 * answer.
 */
export async function readUpstream(deps: RouteDeps, routeId: string, request: RouteCall): Promise<unknown> {
  const { status, body } = (await answerOf(deps, routeId, request)) ?? {};
  return status === 200 && body instanceof Uint8Array ? parseJson(new TextDecoder().decode(body)) : undefined;
}

/**
 * Resolves to the body of a success of a route of the bridge's own, and to undefined when the caller must not ask. Rejects when the
 * bridge has failed, so that no page takes that for an empty list.
 */
export async function readBridge(deps: RouteDeps, routeId: string, request: RouteCall): Promise<unknown> {
  const answer = await answerOf(deps, routeId, request);
  if (answer !== undefined && answer.status >= 500)
    throw new AppError('bridge_failed', `${routeId} answered ${answer.status}`);
  return answer?.status === 200 ? answer.body : undefined;
}

function answerOf({ routes, call }: RouteDeps, routeId: string, request: RouteCall) {
  const route = routes.find(({ id }) => id === routeId);
  return route && call(route, request);
}

/** Resolves to undefined when the caller may not ask, or the upstream gave no usable answer. */
export async function readComputes(
  deps: RouteDeps,
  caller: Caller,
  projectId: string,
): Promise<readonly Compute[] | undefined> {
  const request = { caller, ids: { project_id: projectId } };
  const answer = (await readUpstream(deps, 'listEndpoints', request)) as { endpoints?: unknown } | undefined;
  if (!Array.isArray(answer?.endpoints)) return undefined;
  return answer.endpoints.map(Object).map((endpoint: Readonly<Record<string, unknown>>) => ({
    id: textOf(endpoint['id']),
    type: textOf(endpoint['type']),
    state: textOf(endpoint['current_state']),
    branchId: textOf(endpoint['branch_id']),
  }));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/**
 * Resolves to undefined when another site or an older session may have sent the form. `call` names the refusal in the
 * log.
 */
export async function genuineForm(
  deps: RefusalDeps,
  c: Context,
  visitor: Visitor,
  call: string,
): Promise<URLSearchParams | undefined> {
  const form = await formOf(c);
  const { session, pepper } = visitor;
  if (form !== undefined && isOwnOrigin(c, deps) && isFormKey(form.get('form_key'), session, pepper))
    return form;
  noteVisitorRefusal(deps, visitor, 'form-refused', call);
  return undefined;
}

/**
 * Redirects to `backTo` after a success, where `done` is said once. Otherwise shows the sentence of the refusal and leads back to
 * where the visitor came from. `what` names what was asked for.
 */
export function showOutcome(
  c: Context,
  visitor: Visitor,
  answer: ApiAnswer,
  {
    what,
    backTo,
    cameFrom = backTo,
    done = `${what} was accepted.`,
  }: {
    readonly what: string;
    readonly backTo: string;
    readonly cameFrom?: string;
    readonly done?: string;
  },
) {
  if (answer.status < 300) {
    noteDone(c, done);
    return c.redirect(backTo, 303);
  }
  const sentence = `${what} was answered with ${answer.status}: ${messageIn(answer)}`;
  const content = html`${simple('Refused', sentence)}<p><a class="button" href="${cameFrom}">Back</a></p>`;
  return showPage(c, visitor, { title: 'Refused', content });
}

/** Returns the `message` of a problem or of a refusal of the upstream, and an empty text when the answer has none. */
function messageIn(answer: ApiAnswer): string {
  const { message } = fieldsOf(answer);
  return typeof message === 'string' ? message : '';
}

/** Returns the id of the first operation in the upstream's answer to a command. */
export function firstOperationIn(answer: ApiAnswer): string | undefined {
  const { operation, operations } = fieldsOf(answer);
  const first: unknown = (Array.isArray(operations) ? operations[0] : undefined) ?? operation;
  const id: unknown = Object(first)['id'];
  return typeof id === 'string' ? id : undefined;
}

function fieldsOf({ body }: ApiAnswer): Readonly<Record<string, unknown>> {
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : body;
  try {
    return Object(JSON.parse(typeof text === 'string' ? text : '')) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}
