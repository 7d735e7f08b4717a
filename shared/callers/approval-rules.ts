/**
 * Decides which calls of a token a person must approve first. A rule such as `DELETE /projects/*` names a method and a
 * path under the upstream's base URL, segment by segment, in which `*` stands for one segment.
 */

import type { Call } from '../upstream/calls/call.ts';

/** A token has at most this many rules, because each of its commands is compared with all of them. */
export const APPROVAL_RULES_MAX = 20;

type Named = Pick<Call, 'method' | 'path'>;

/** Returns whether the rule names the call. `isSame` compares a segment of the rule with that of the call's path. */
export function ruleNames(
  rule: string,
  { method, path }: Named,
  isSame: (wanted: string, segment: string) => boolean,
): boolean {
  const [wantedMethod, wantedPath = ''] = rule.split(' ');
  const [wanted, segments] = [wantedPath.split('/'), path.split('/')];
  return (
    wantedMethod === method &&
    wanted.length === segments.length &&
    segments.every((segment, place) => wanted[place] === '*' || isSame(wanted[place] ?? '', segment))
  );
}

/** `ids` fill the path of the call. An id is part of one segment, whatever characters it has. */
export function needsApproval(
  rules: readonly string[],
  call: Named,
  ids: Readonly<Record<string, string>>,
): boolean {
  const filled = (segment: string) => segment.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '');
  return rules.some((rule) => ruleNames(rule, call, (wanted, segment) => wanted === filled(segment)));
}
