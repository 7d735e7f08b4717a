/** Tests what CloudFormation makes of the released template with some parameters and without them. */

import { describe, expect, test } from 'vitest';
import { CONDITIONS, configOfRelease, withParameters } from '../../infra/aws/parameters.ts';
import { resolved } from '../release/resolve-template.ts';

const deployed = (part: unknown, given: Readonly<Record<string, string>>) =>
  resolved(withParameters(part), given, CONDITIONS);

describe('the address of the runbook', () => {
  const url = configOfRelease().runbook_url;
  const part = {
    description: `Events are late. Runbook: ${url}#events-late`,
    variables: { RUNBOOK_URL: url },
  };

  test('is linked when it is given', () => {
    expect(deployed(part, { RunbookUrl: 'https://wiki.bridge.test/runbook' })).toEqual({
      description: 'Events are late. Runbook: https://wiki.bridge.test/runbook#events-late',
      variables: { RUNBOOK_URL: 'https://wiki.bridge.test/runbook' },
    });
  });

  test('is a file in the description of an alarm, and no link anywhere, when it is not given', () => {
    expect(deployed(part, { RunbookUrl: '' })).toEqual({
      description: 'Events are late. Runbook: docs/operations.md#events-late',
      variables: {},
    });
  });
});
