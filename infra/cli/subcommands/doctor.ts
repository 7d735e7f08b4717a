/** `operations-bridge doctor` examines an account, a bridge and a deployment, and says what to do. */

import { createSecret, type Secret } from '../../../shared/runtime/secret.ts';
import { KEY_SECRET_ID, PEPPER_SECRET_ID } from '../../local/bridge-names.ts';
import { paint } from '../../local/event-lines.ts';
import { EXIT_CODES, UsageError } from '../../process/command.ts';
import type { Environment, Surroundings } from '../../process/surroundings.ts';
import { createBridgeClient } from '../bridge-client.ts';
import { connectionFinder, findLocalRun } from '../connection.ts';
import { examineBridge, type Finding, notChecked } from '../examining/examine-bridge.ts';
import { examineUpstream } from '../examining/examine-upstream.ts';
import { type Asked, asking } from './subcommand.ts';

interface DoctorValues {
  readonly upstream?: string;
  readonly name: string;
  readonly table?: string;
  readonly bus?: string;
  readonly pepperSecret: string;
  readonly secret?: readonly string[];
  readonly alertTopic?: string;
  readonly webhookSecret?: string;
  readonly local?: true;
  readonly skip?: readonly string[];
  readonly signOfLife?: string;
}

const PARTS = ['upstream', 'bridge', 'aws'] as const;

const SERVICE_URL = 'https://console.neon.tech/api/v2';

export const doctorSubcommand = asking<DoctorValues>({
  usage: 'doctor',
  summary: 'Examines the account, the bridge and the deployment, before and after it is deployed.',
  description:
    'It changes nothing, but for the branch of --sign-of-life. Each finding says what to do. The API key of the upstream comes from UPSTREAM_API_KEY, and with --local from the run, ' +
    'and AWS is asked with your credentials. The deployed functions try the calls of their roles on items of their own; ' +
    'only rules for test events notice it.',
  examples: [
    'UPSTREAM_API_KEY=... operations-bridge doctor --skip bridge --skip aws    # before the first deployment',
    'operations-bridge doctor --secret arn:aws:secretsmanager:eu-central-1:123456789012:secret:key --alert-topic arn:aws:sns:eu-central-1:123456789012:operations-bridge-alerts',
    'operations-bridge doctor --skip upstream --skip aws --sign-of-life icy-hat-70322459',
    'operations-bridge doctor --local    # the bridge that "start" runs',
  ],
  exitCodes: {
    succeeded: 'everything that was not skipped was checked and is in order',
    failed: 'there is a problem, or a check could not be made',
  },
  options: [
    [
      '--upstream <url>',
      `the base URL of the upstream (default: ${SERVICE_URL}, and with --local that of the run)`,
    ],
    ['--name <name>', 'the name of the bridge in its configuration', 'operations-bridge'],
    ['--table <name>', 'the table of the bridge (default: --name)'],
    ['--bus <name>', 'the bus of the bridge (default: --name)'],
    ['--pepper-secret <name>', 'the secret that keys the hashes of tokens', PEPPER_SECRET_ID],
    ['--secret <name>', 'a further secret to look at', []],
    ['--alert-topic <arn>', 'the topic of e-mail alerts'],
    [
      '--webhook-secret <name>',
      'a secret with the address of a Slack webhook, which is tried without a message',
    ],
    ['--local', 'the bridge that "start" runs on this machine, instead of AWS with your credentials'],
    [
      '--sign-of-life <project>',
      'creates and deletes a branch of this project through the bridge, and waits for the end of both',
    ],
    ['--skip <part>', `leaves out ${PARTS.join(', ')}`, []],
    ['--json', 'prints the findings as JSON'],
  ],
  act: examine,
});

async function examine(asked: Asked<DoctorValues>): Promise<void> {
  const { note, print, isColoured, exitWith, values } = asked;
  const { skip = [] } = values;
  const unknown = skip.find((part) => !PARTS.some((known) => known === part));
  if (unknown !== undefined) throw new UsageError(`--skip is "${unknown}"; it takes ${PARTS.join(', ')}.`);
  if (values.local && values.url !== undefined)
    throw new UsageError(
      '--local is the bridge on this machine, and --url another one; leave one of them out.',
    );
  const examinations = { upstream: ofUpstream, bridge: ofBridge, aws: ofAws } as const;
  const findings: Finding[] = [];
  for (const part of PARTS) {
    if (skip.includes(part)) continue;
    note(`Looking at the ${part} ...`);
    findings.push(...(await examinations[part](asked)));
  }
  if (values.signOfLife !== undefined) findings.push(await signOfLife(values.signOfLife, asked));
  if (values.json) print(JSON.stringify(findings));
  else for (const finding of findings) print(textOf(finding, isColoured));
  if (findings.some(({ verdict }) => verdict !== 'ok')) exitWith(EXIT_CODES.failed);
}

async function signOfLife(projectId: string, asked: Asked<DoctorValues>): Promise<Finding> {
  const { url } = asked.values;
  const environment = environmentOfBridge(asked);
  if (environment === undefined) return noRun('sign of life');
  asked.note(`Creating and deleting a branch of ${projectId} ...`);
  const { giveSignOfLife } = await import('../examining/sign-of-life.ts');
  return giveSignOfLife(projectId, url === undefined ? [] : ['--url', url], { ...asked, environment });
}

/** With --local it names the run on this machine, whatever else is set, and is undefined when there is none. */
function environmentOfBridge({ values, environment }: Asked<DoctorValues>): Environment | undefined {
  if (!values.local) return environment;
  const run = findLocalRun(environment);
  return run && { ...environment, OPERATIONS_BRIDGE_URL: run.url, OPERATIONS_BRIDGE_TOKEN: run.token };
}

/** What is asked, or what must be mended before anything can be. */
type UpstreamChoice = { readonly baseUrl: string; readonly key: Secret } | Finding;

async function ofUpstream(asked: Asked<DoctorValues>): Promise<readonly Finding[]> {
  const { environment, values } = asked;
  const isOfRun = values.local === true && values.upstream === undefined;
  const choice = isOfRun ? await upstreamOfRun(environment) : upstreamAskedFor(values, environment);
  return 'verdict' in choice ? [choice] : examineUpstream(choice, asked);
}

function upstreamAskedFor(
  { upstream = SERVICE_URL }: DoctorValues,
  environment: Surroundings['environment'],
): UpstreamChoice {
  const key = environment['UPSTREAM_API_KEY']?.trim();
  if (key) return { baseUrl: upstream.replace(/\/+$/, ''), key: createSecret(key) };
  return notChecked(
    'upstream key',
    'There is no key.',
    'Set UPSTREAM_API_KEY, use --local alone for the bridge of this machine, or use --skip upstream.',
  );
}

/** A run knows its upstream, and its local AWS has the key. */
async function upstreamOfRun(environment: Surroundings['environment']): Promise<UpstreamChoice> {
  const run = findLocalRun(environment);
  if (run === undefined) return noRun('upstream');
  const { openAwsClients } = await import('../examining/examine-deployment.ts');
  const { readKeyOfRun } = await import('../examining/examine-aws.ts');
  using clients = openAwsClients(run);
  const key = await readKeyOfRun(clients.secrets, KEY_SECRET_ID);
  return 'verdict' in key ? key : { baseUrl: run.upstream_base_url, key };
}

function noRun(check: string): Finding {
  return notChecked(
    check,
    'No bridge runs on this machine.',
    'Run "operations-bridge start", or leave --local out.',
  );
}

async function ofBridge(asked: Asked<DoctorValues>): Promise<readonly Finding[]> {
  const environment = environmentOfBridge(asked);
  if (environment === undefined) return [noRun('bridge')];
  const find = await connectionFinder(asked.values, { ...asked, environment });
  if (find() === undefined)
    return [
      notChecked(
        'bridge',
        'No address of a bridge is set.',
        'Set OPERATIONS_BRIDGE_URL, or use --skip bridge.',
      ),
    ];
  return examineBridge(createBridgeClient(find, asked), asked);
}

async function ofAws(asked: Asked<DoctorValues>): Promise<readonly Finding[]> {
  const { environment, values } = asked;
  const { name, table = name, bus = name, pepperSecret, secret, alertTopic, webhookSecret } = values;
  const run = values.local ? findLocalRun(environment) : undefined;
  if (values.local && run === undefined) return [noRun('aws')];
  const { openAwsClients } = await import('../examining/examine-deployment.ts');
  const { examineAws } = await import('../examining/examine-aws.ts');
  const { examineDeployment } = await import('../examining/examine-deployment.ts');
  const { examineWebhook } = await import('../examining/examine-aws.ts');
  using clients = openAwsClients(run);
  const place = {
    table,
    bus,
    pepperSecretId: pepperSecret,
    secretIds: secret ?? [],
    alertTopicArn: alertTopic,
  };
  const inAws = await examineAws(clients, place);
  const webhook =
    webhookSecret === undefined ? [] : [await examineWebhook(clients.secrets, webhookSecret, asked)];
  const deployed = values.local ? [] : await examineDeployment(clients, name);
  return [...inAws, ...webhook, ...deployed];
}

function textOf({ check, verdict, found, advice }: Finding, isColoured: boolean): string {
  const colour = verdict === 'ok' ? 'green' : verdict === 'problem' ? 'red' : 'yellow';
  const head = `${paint(colour, verdict.padEnd(11), { isColoured })}  ${check}: ${found}`;
  return advice === undefined ? head : `${head}\n${' '.repeat(13)}${advice}`;
}
