/** Shows how a sign-in or a sign-out at the company's provider ended, and what the person can do now. */

import type { Context } from 'hono';
import { html } from 'hono/html';
import { page } from '../html/layout.ts';
import type { Html } from '../html/markup.ts';
import type { FailureKind } from './identity-provider.ts';

export type NotSignedIn =
  | { readonly kind: FailureKind | 'not-begun'; readonly detail: string }
  | {
      readonly kind: 'claim-missing' | 'no-role';
      readonly detail: string;
      /** The provider knows the person by this name. */
      readonly name: string | undefined;
      /** The claim that should contain the person's roles. */
      readonly claim: string;
    };

interface Scene {
  /** People know the provider by this host. */
  readonly host: string;
  readonly next: string;
  /** The log line of the refusal has this id. */
  readonly requestId: string;
}

/**
 * Leads to the page that was asked for by a page of the console. A redirect would count as a link of the provider, with
 * which browsers do not send the session.
 */
export function showSignedIn(c: Context, next: string) {
  const content = html`<div class="sign"><h1>Signed in</h1><p><a class="button" href="${next}">Continue</a></p></div>`;
  return c.html(page({ title: 'Signed in', content, continueTo: next }), 200);
}

export function showSignedOut(c: Context, host: string, outcome?: 'no-way-out') {
  const more =
    outcome === 'no-way-out'
      ? html`<p class="notice">${host} offers no way to sign out from here. Sign out there yourself.</p>`
      : html`<p>You are still signed in at ${host}. On a computer that others use, sign out there, too.</p>
<p><a class="button" href="/console/sign-out/provider">Sign out at ${host}</a></p>`;
  const content = html`<div class="sign"><h1>Signed out</h1><p>Your session of the bridge has ended.</p>
${more}
<p><a href="/console">Sign in again</a></p></div>`;
  return c.html(page({ title: 'Signed out', content }), 200);
}

export function showNotSignedIn(c: Context, why: NotSignedIn, scene: Scene) {
  const { title, status, advice } = ENDINGS[why.kind];
  const again = `/console/sign-in/start?next=${encodeURIComponent(scene.next)}`;
  const content = html`<div class="sign"><h1>${title}</h1>
${advice(why, scene.host)}
<p><a class="button" href="${again}">Try again at ${scene.host}</a> <a class="button" href="/console">Sign in with a token</a></p>
<p class="quiet">If you ask the operators of the bridge, give them this number: <code>${scene.requestId}</code></p></div>`;
  return c.html(page({ title, content }), status);
}

interface Ending {
  readonly title: string;
  readonly status: 400 | 403 | 502 | 503;
  readonly advice: (why: NotSignedIn, host: string) => Html;
}

const ENDINGS: Readonly<Record<NotSignedIn['kind'], Ending>> = {
  unavailable: {
    title: 'The identity provider does not answer',
    status: 503,
    advice: (_why, host) =>
      html`<p>${host} gave no usable answer. Try again in a minute. If you have a token of the bridge, sign in with it meanwhile.</p>`,
  },
  declined: {
    title: 'Not signed in',
    status: 403,
    advice: (_why, host) =>
      html`<p>${host} reports that the sign-in was cancelled, or that you may not use this application.</p>`,
  },
  refused: {
    title: 'Not signed in',
    status: 502,
    advice: ({ detail }, host) =>
      html`<p>${host} refused the sign-in with <code>${detail}</code>. Try once more. If it happens again, the settings of the bridge and those of ${host} do not fit.</p>`,
  },
  untrusted: {
    title: 'Not signed in',
    status: 403,
    advice: (_why, host) =>
      html`<p>The answer that came from ${host} does not belong to your sign-in, so the bridge did not accept it.</p>`,
  },
  'not-begun': {
    title: 'This sign-in is over',
    status: 400,
    advice: () =>
      html`<p>It took more than ten minutes, was completed before, or was begun in another tab or browser. Nothing was changed.</p>`,
  },
  'claim-missing': {
    title: 'No access',
    status: 403,
    advice: (why, host) =>
      html`<p>You are signed in at ${host}${nameIn(why)}, but its ID token has no claim <code>${claimIn(why)}</code>, which should contain your roles.</p>
<p>Ask the people who run ${host} to add this claim to the ID tokens of the bridge.</p>`,
  },
  'no-role': {
    title: 'No access',
    status: 403,
    advice: (why, host) =>
      html`<p>You are signed in at ${host}${nameIn(why)}, but the claim <code>${claimIn(why)}</code> has no value that stands for a role of the bridge.</p>
<p>Ask the operators of the bridge which group you need, or to add yours to <code>api.sign_in.roles</code>.</p>`,
  },
};

function nameIn(why: NotSignedIn): Html | '' {
  return 'name' in why && why.name !== undefined ? html` as ${why.name}` : '';
}

function claimIn(why: NotSignedIn): string {
  return 'claim' in why ? why.claim : '';
}
