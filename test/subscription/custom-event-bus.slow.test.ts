/** The stack of docs/deploy/custom-event-bus.md synthesizes as its first lines say. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { ROOT } from '../../infra/release/project.ts';

test('docs/examples/custom-event-bus.ts forwards the events of the bridge, and subscribes a queue from the oldest on', () => {
  const folder = mkdtempSync(join(tmpdir(), 'custom-event-bus-'));
  try {
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(ROOT, 'docs/examples/custom-event-bus.ts')],
      { env: { ...process.env, CDK_OUTDIR: folder }, encoding: 'utf8' },
    );
    expect(status, stderr).toBe(0);
    const file = join(folder, 'operations-bridge-custom-event-bus.template.json');
    const template = Template.fromJSON(JSON.parse(readFileSync(file, 'utf8')) as object);

    const [bus] = Object.keys(template.findResources('AWS::EventsV2::EventBus'));
    template.hasResourceProperties('AWS::Events::Rule', {
      EventBusName: 'operations-bridge',
      EventPattern: { source: ['operations-bridge'] },
      Targets: [{ Arn: { Ref: bus } }],
    });
    template.hasResourceProperties('AWS::EventsV2::Subscriber', {
      EventBusArn: { Ref: bus },
      StartingPosition: 'POINT_IN_TIME',
    });
    const grants = JSON.stringify(template.findResources('AWS::IAM::Policy'));
    for (const action of ['events:PutEvents', 'sqs:SendMessage']) expect(grants).toContain(action);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
