/** Says what an error of AWS means for an examination. */

import { toError } from '../../../shared/runtime/errors.ts';
import { type Finding, notChecked, problem } from './finding.ts';

/** Never rejects: an error of AWS becomes a finding. */
export async function guarded<Result>(
  check: string,
  examine: () => Promise<Result>,
): Promise<Result | Finding> {
  try {
    return await examine();
  } catch (error) {
    return judgeAwsError(check, toError(error));
  }
}

/** A missing permission prevents the check, and anything that does not exist is what it looked for. */
function judgeAwsError(check: string, { name, message }: Error): Finding {
  if (/NotFound/.test(name))
    return problem(check, 'It does not exist.', 'Deploy the stack, or check the name and the region.');
  if (/AccessDenied|Unauthorized|AuthorizationError|UnrecognizedClient|InvalidClientTokenId/.test(name))
    return notChecked(
      check,
      `These credentials may not look at it (${name}).`,
      'Use credentials that may: docs/operations.md lists the permissions under "Doctor".',
    );
  if (/Credentials/.test(name))
    return notChecked(
      check,
      'There are no AWS credentials.',
      'Set AWS_PROFILE or the keys, or use --skip aws.',
    );
  return notChecked(
    check,
    `AWS did not answer the question (${name}: ${message}).`,
    'Check the region and the network.',
  );
}
