/**
 * Behaves as IAM and STS do towards a script that makes a role for the target of a rule. Roles are kept and named; what
 * they allow is not checked, because nothing here needs a role.
 */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { ACCOUNT_ID, type XmlAnswer, xmlError, xmlResult } from './protocol.ts';

/** Answers one form of the query protocol. */
export type QueryService = (form: URLSearchParams) => XmlAnswer;

interface Role {
  readonly createdMs: number;
  readonly policies: Set<string>;
}

const IAM = 'https://iam.amazonaws.com/doc/2010-05-08/';
const STS = 'https://sts.amazonaws.com/doc/2011-06-15/';

/** A trial needs one. */
const ROLES_MAX = 100;

export function createIamService(clock: Clock): QueryService {
  const roles = new Map<string, Role>();
  return (form) => {
    const [action, name] = [form.get('Action') ?? '', form.get('RoleName') ?? ''];
    if (action === 'CreateRole') return createRole(roles, name, clock.now());
    const role = roles.get(name);
    if (!ACTIONS.includes(action)) return unknownAction(IAM, action);
    if (role === undefined)
      return xmlError(IAM, 404, 'NoSuchEntity', `The role with name ${name} cannot be found.`);
    const policy = form.get('PolicyName') ?? '';
    if (action === 'PutRolePolicy') role.policies.add(policy);
    if (action === 'DeleteRolePolicy') role.policies.delete(policy);
    if (action === 'DeleteRole' && role.policies.size > 0)
      return xmlError(IAM, 409, 'DeleteConflict', 'Cannot delete entity, must delete policies first.');
    if (action === 'DeleteRole') roles.delete(name);
    return xmlResult(action, IAM, action === 'GetRole' ? shown(name, role) : {});
  };
}

const ACTIONS = ['GetRole', 'PutRolePolicy', 'DeleteRolePolicy', 'DeleteRole'];

/** Every caller is the root of the one account. */
export function answerSts(form: URLSearchParams): XmlAnswer {
  const action = form.get('Action') ?? '';
  if (action !== 'GetCallerIdentity') return unknownAction(STS, action);
  const Arn = `arn:aws:iam::${ACCOUNT_ID}:root`;
  return xmlResult(action, STS, { Arn, UserId: ACCOUNT_ID, Account: ACCOUNT_ID });
}

function createRole(roles: Map<string, Role>, name: string, createdMs: number): XmlAnswer {
  if (!/^[\w+=,.@-]{1,64}$/.test(name))
    return xmlError(IAM, 400, 'ValidationError', `The role name ${name} is not valid.`);
  if (roles.has(name))
    return xmlError(IAM, 409, 'EntityAlreadyExists', `Role with name ${name} already exists.`);
  if (roles.size >= ROLES_MAX)
    return xmlError(IAM, 409, 'LimitExceeded', `The local AWS keeps at most ${ROLES_MAX} roles. Delete one.`);
  const role = { createdMs, policies: new Set<string>() };
  roles.set(name, role);
  return xmlResult('CreateRole', IAM, shown(name, role));
}

function shown(name: string, { createdMs }: Role) {
  return {
    Role: {
      Path: '/',
      RoleName: name,
      RoleId: `AROA${name}`,
      Arn: `arn:aws:iam::${ACCOUNT_ID}:role/${name}`,
      CreateDate: new Date(createdMs).toISOString(),
    },
  };
}

function unknownAction(namespace: string, action: string): XmlAnswer {
  return xmlError(namespace, 400, 'InvalidAction', `${action} is not part of the local AWS`);
}
