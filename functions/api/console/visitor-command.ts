/** Sends the command of a form on a page. The form must come from a page of the visitor's own session. */

import type { Context } from 'hono';
import type { ApiAnswer } from '../serving/route.ts';
import { simple } from './html/markup.ts';
import { type Page, showPage } from './pages/page.ts';
import { formOf, isOwnOrigin } from './session/browser-form.ts';
import { isFormKey } from './session/session.ts';
import type { Visitor } from './session/visitor.ts';
import { noteVisitorRefusal, type RefusalDeps } from './session/visitor-traces.ts';

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
  if (form !== undefined && isOwnOrigin(c) && isFormKey(form.get('form_key'), session, pepper)) return form;
  noteVisitorRefusal(deps, visitor, 'form-refused', call);
  return undefined;
}

/**
 * Redirects to `backTo` after a success, and otherwise shows the sentence of the refusal. `what` names what was asked
 * for.
 */
export function showOutcome(
  c: Context,
  visitor: Visitor,
  answer: ApiAnswer,
  { what, backTo }: { readonly what: string; readonly backTo: string },
) {
  if (answer.status < 300) return c.redirect(backTo, 303);
  const sentence = `${what} was answered with ${answer.status}: ${messageIn(answer)}`;
  const page: Page = { title: 'Refused', content: simple('Refused', sentence) };
  return showPage(c, visitor, page);
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
