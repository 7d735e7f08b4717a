/** What people can do from a page: each a normal, audited command, asked for by a form of their own session. */

import type { Hono } from 'hono';
import type { ApiAnswer } from '../serving/route.ts';
import { projectPath } from './parts.ts';
import { confirmPage } from './project-page.ts';
import { formOf, isOwnOrigin, textOf } from './request-parts.ts';
import { formKey, isFormKey } from './session.ts';
import { createUpstreamView } from './upstream-view.ts';
import { type ConsoleDeps, type SignedIn, simple, type Visitors } from './visitors.ts';

export function addCommandRoutes(app: Hono, deps: ConsoleDeps, visitors: Visitors): void {
  const { whoIs, signIn, shown, message, get, mayRead } = visitors;
  const { routeOf } = createUpstreamView(deps);

  const endpointAction =
    '/accounts/:account_id/projects/:project_id/endpoints/:endpoint_id/:action{start|restart}';

  const mayAct = (who: SignedIn, accountId: string, projectId: string) =>
    mayRead(who, accountId, projectId) && visitors.hasScope(who, 'computes:restart', 'consoleCommand');

  get(app, endpointAction, async (c, who) => {
    const {
      account_id: accountId = '',
      project_id: projectId = '',
      endpoint_id: endpointId = '',
      action,
    } = c.req.param() as Record<string, string>;
    if (!mayAct(who, accountId, projectId))
      return message('No access', 'Your token needs the scope computes:restart and this project.', 403);
    return {
      title: `${action} ${endpointId}`,
      content: confirmPage({
        action: action as 'start' | 'restart',
        accountId,
        projectId,
        endpointId,
        formKey: formKey(who.session, who.pepper),
        commandKey: deps.newId(),
      }),
    };
  });

  app.post(endpointAction, async (c) => {
    const who = await whoIs(c);
    if (who === undefined) return signIn(c);
    const {
      account_id: accountId = '',
      project_id: projectId = '',
      endpoint_id: endpointId = '',
      action,
    } = c.req.param() as Record<string, string>;
    const form = await formOf(c);
    const isGenuine = isOwnOrigin(c) && isFormKey(form?.get('form_key'), who.session, who.pepper);
    const route = routeOf(action as 'start' | 'restart');
    if (!isGenuine) visitors.refuseForm(who, `console_${action}`);
    if (!isGenuine || !mayAct(who, accountId, projectId) || route === undefined)
      return shown(
        c,
        who,
        message(
          'Not done',
          'The form was not one of this page, or your token may not do this. Nothing was changed.',
          403,
        ),
      );
    const answer = await deps.call(route, {
      caller: who.caller,
      ids: { project_id: projectId, endpoint_id: endpointId },
      idempotencyKey: form?.get('command_key') ?? '',
    });
    if (answer.status < 300) return c.redirect(projectPath(accountId, projectId), 303);
    return shown(c, who, {
      title: 'Refused',
      content: simple('Refused', `The command was answered with ${answer.status}: ${sentenceOf(answer)}`),
    });
  });

  app.post('/accounts/:account_id/projects/:project_id/read', async (c) => {
    const who = await whoIs(c);
    if (who === undefined) return signIn(c);
    const { account_id: accountId, project_id: projectId } = c.req.param();
    const form = await formOf(c);
    const isGenuine = isOwnOrigin(c) && isFormKey(form?.get('form_key'), who.session, who.pepper);
    const route = deps.routes.find(({ id }) => id === 'requestRead');
    if (!isGenuine) visitors.refuseForm(who, 'consoleRead');
    if (!isGenuine || route === undefined || !mayRead(who, accountId, projectId))
      return shown(
        c,
        who,
        message('Not done', 'The form was not one of this page, or your token may not do this.', 403),
      );
    const answer = await deps.call(route, { caller: who.caller, ids: { project_id: projectId } });
    if (answer.status >= 300)
      return shown(c, who, {
        title: 'Refused',
        content: simple('Refused', `The wish was answered with ${answer.status}: ${sentenceOf(answer)}`),
      });
    return c.redirect(`${projectPath(accountId, projectId)}?asked`, 303);
  });
}

function sentenceOf({ body }: ApiAnswer): string {
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : textOf(body);
  try {
    return textOf((JSON.parse(text) as { message?: unknown }).message);
  } catch {
    return '';
  }
}
