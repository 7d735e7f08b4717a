/** Reads `--approve` of `operations-bridge tokens create`: each rule must name calls that can wait for a person. */

import { APPROVAL_RULES_MAX, ruleNames } from '../../../shared/callers/tokens.ts';
import { isAboutOneProject, type TableCall } from '../../../shared/upstream/calls/call.ts';
import { allCalls } from '../../../shared/upstream/calls/calls.ts';
import { UsageError } from '../../process/command.ts';
import { editsBetween } from '../filters.ts';

/** Throws `UsageError`, which says what is wrong with which rule. */
export function readApprovalRules(texts: readonly string[] = []): readonly string[] {
  const rules = texts.flatMap((text) => text.split(',')).map(plainRule);
  if (rules.length > APPROVAL_RULES_MAX)
    throw new UsageError(`--approve has ${rules.length} rules; a token has at most ${APPROVAL_RULES_MAX}.`);
  for (const rule of rules) {
    const fault = faultOf(rule);
    if (fault !== undefined) throw new UsageError(`--approve has "${rule}", which ${fault}.`);
  }
  return [...new Set(rules)];
}

function plainRule(text: string): string {
  const [method = '', path = ''] = text.trim().split(/\s+/);
  return `${method.toUpperCase()} ${path}`;
}

function faultOf(rule: string): string | undefined {
  const named = Object.entries(allCalls).filter(([, call]) =>
    ruleNames(rule, call, (wanted, segment) => wanted === segment || segment.startsWith('{')),
  );
  if (named.length === 0) return `names no call of the upstream; did you mean "${nearestTo(rule)}"`;
  const [id, unable] = named.find(([, call]) => !canWait(call)) ?? [];
  if (unable === undefined) return undefined;
  if (unable.method === 'GET') return `names ${id}, which changes nothing; leave the rule out`;
  const why =
    unable.shows === 'issued'
      ? 'whose answer is a secret that is shown once and is not kept'
      : 'which is about no single project and cannot wait';
  return `names ${id}, ${why}; leave the scope ${unable.scope} out of --scopes instead`;
}

function canWait(call: TableCall): boolean {
  return isAboutOneProject(call) && call.shows !== 'issued';
}

/** Ids stand as `*` in the proposal, as they do in most rules. */
function nearestTo(rule: string): string {
  const proposals = Object.values(allCalls)
    .filter(canWait)
    .map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '*')}`);
  const wanted = rule.slice(0, RULE_CHARACTERS_COMPARED);
  return proposals
    .map((proposal) => ({ proposal, edits: editsBetween(wanted, proposal) }))
    .reduce((best, one) => (one.edits < best.edits ? one : best)).proposal;
}

/** No path of a call is as long, and a comparison takes time with the product of both lengths. */
const RULE_CHARACTERS_COMPARED = 200;
