/** Lists the bounds of signing in to the console, for docs/limits.md. */

import { COOKIE_CHARACTERS_MAX } from '../../../../functions/api/console/session/cookie.ts';
import { SIGN_IN_MS_MAX } from '../../../../functions/api/console/sign-in/pending-sign-in.ts';
import { GROUPS_MAX } from '../../../../functions/api/console/sign-in/person-of-claims.ts';
import {
  PROVIDER_ANSWER_BYTES_MAX,
  PROVIDER_TIMEOUT_SECONDS,
} from '../../../../functions/api/console/sign-in/provider-discovery.ts';
import { ROLE_PROJECTS_MAX, ROLES_MAX } from '../../../../shared/config/sign-in-settings.ts';
import type { BoundGroup } from './bound.ts';

const SETTINGS_REFUSED = {
  whenMet: 'A configuration with more is refused.',
  signal: 'The configuration is refused with a sentence.',
};

export const signingInBounds: BoundGroup = {
  title: 'Signing in to the console',
  bounds: [
    {
      name: 'Roles of `api.sign_in.roles`',
      value: ROLES_MAX,
      unit: 'roles',
      reason: 'People must be able to see which role comes first.',
      ...SETTINGS_REFUSED,
    },
    {
      name: 'Projects of one role',
      value: ROLE_PROJECTS_MAX,
      unit: 'projects',
      reason: 'They stand in the file beside the code of the function.',
      ...SETTINGS_REFUSED,
    },
    {
      name: 'Values of the claim with the roles',
      value: GROUPS_MAX,
      unit: 'values',
      reason: 'Providers leave out claims with more than some hundred groups themselves.',
      whenMet: 'Values beyond it are not looked at.',
      signal: 'A person without a role sees a page that names the claim.',
    },
    {
      name: 'Time between the start of a sign-in and the return from the provider',
      value: SIGN_IN_MS_MAX,
      unit: 'ms',
      reason: 'A password and a second factor take less.',
      whenMet: 'The sign-in has to be begun again.',
      signal: 'A page that says so',
    },
    {
      name: 'Time for one answer of the provider',
      value: PROVIDER_TIMEOUT_SECONDS,
      unit: 's',
      reason: 'A sign-in takes up to three answers, and API Gateway gives up after 30 s.',
      whenMet: 'The sign-in ends, and the provider is asked again ten seconds later at the earliest.',
      signal: 'A page that says so; log line `request.refused` with `detail: OAUTH_TIMEOUT`',
    },
    {
      name: 'Answer of the provider',
      value: PROVIDER_ANSWER_BYTES_MAX,
      unit: 'bytes',
      reason: 'Metadata, key sets and tokens have some kilobytes.',
      whenMet: 'The rest is not read, and the sign-in ends.',
      signal: 'A page that says so; log line `request.refused` with `detail: answer_too_large`',
    },
    {
      name: 'ID token that is kept for signing out at the provider, sealed',
      value: COOKIE_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'Browsers take cookies of 4 kB.',
      whenMet: 'It is not kept. The provider then asks the person whom to sign out.',
      signal: 'The question of the provider',
    },
    {
      name: "Session that began with an issuer's token, with the projects of the token",
      value: COOKIE_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'Browsers take cookies of 4 kB.',
      whenMet: 'No session begins.',
      signal: 'The form to sign in says why.',
    },
  ],
};
