/** `operations-bridge init` asks six questions at most, and writes the smallest configuration that can be deployed. */

import { existsSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import { deployedUpstreamBaseUrl, secretArn } from '../../../shared/config/account-rules.ts';
import { UsageError } from '../../process/command.ts';
import { type Asked, acting } from './subcommand.ts';

type InitValues = Readonly<Record<string, string | undefined>>;

const ARN = 'the complete ARN of a secret, as "aws secretsmanager create-secret" has printed it';
const NAME = /^[a-z][a-z0-9-]{1,30}$/;

/** An empty answer means the usual one. A question without a usual answer must be answered. */
type Question = readonly [option: string, asks: string, form: z.ZodType, wants: string, usual?: string];

const QUESTIONS: readonly Question[] = [
  ['key-secret', 'ARN of the secret with your Neon API key', secretArn, ARN],
  ['pepper-secret', 'ARN of the secret with the token pepper', secretArn, ARN],
  ['email', 'Address for alerts and alarms', z.email(), 'an e-mail address'],
  [
    'slack-secret',
    'ARN of the secret of Slack, for alerts there too',
    z.union([z.literal(''), secretArn]),
    `nothing, or ${ARN}`,
    '',
  ],
  [
    'upstream',
    'Base URL of the API',
    deployedUpstreamBaseUrl,
    'an https address that ends with /api/v2',
    'https://console.neon.tech/api/v2',
  ],
  [
    'name',
    'Name of the bridge and of its bus',
    z.string().regex(NAME),
    '2 to 31 small letters, digits and hyphens, a letter first',
    'operations-bridge',
  ],
];

/** Every other option takes the name of something; an ARN names a secret. */
const VALUES: Readonly<Record<string, string>> = { email: 'address', upstream: 'url' };

export const initSubcommand = acting<InitValues>({
  usage: 'init',
  summary: 'Asks six questions, and writes the smallest bridge.config.ts.',
  description:
    'It runs in a clone of the bridge and changes nothing on AWS. A question whose option is given is not asked. ' +
    'bridge.config.example.ts shows all other settings.',
  examples: [
    'operations-bridge init',
    'operations-bridge init --key-secret "$KEY_ARN" --pepper-secret "$PEPPER_ARN" --email oncall@your-company.com',
  ],
  options: [
    ...QUESTIONS.map(([option, asks]) => [`--${option} <${VALUES[option] ?? 'name'}>`, asks] as const),
    ['--output <file>', 'writes this new file', 'bridge.config.ts'],
    ['--json', 'prints the name of the file as JSON'],
  ],
  act: init,
});

async function init(asked: Asked<InitValues>): Promise<void> {
  const { output = '' } = asked.values;
  if (!existsSync('infra/bridge-config.ts'))
    throw new UsageError(
      'There is no infra/bridge-config.ts here; change to the folder of a clone of the bridge.',
    );
  if (existsSync(output))
    throw new UsageError(`${output} exists already; move it away, or name another with --output.`);
  const answers: string[] = [];
  for (const question of QUESTIONS) answers.push(await answerTo(question, asked));
  writeFileSync(output, configurationOf(answers), { flag: 'wx' });
  asked.show({ file: output }, `${output} is written. Next: npx cdk deploy`);
}

/** Asks again until the answer can be used. Where nobody can be asked, it comes from its option or is the usual one. */
async function answerTo(
  [option, asks, form, wants, usual]: Question,
  { values, ask, note }: Asked<InitValues>,
): Promise<string> {
  const valueName = option.replace('-s', 'S');
  const given = values[valueName] ?? (ask === undefined ? usual : undefined);
  if (given !== undefined && form.safeParse(given).success) return given;
  if (given !== undefined) throw new UsageError(`--${option} takes ${wants}.`);
  if (ask === undefined)
    throw new UsageError(`There is no terminal to ask at, so --${option} must be given; it takes ${wants}.`);
  for (;;) {
    const text =
      (await ask(`${asks}${usual === undefined ? '' : ` [${usual || 'none'}]`}: `)) || (usual ?? '');
    if (form.safeParse(text).success) return text;
    note(`It takes ${wants}.`);
  }
}

function configurationOf(answers: readonly string[]): string {
  const [key, pepper, email, slack, upstream, name] = answers.map((answer) => JSON.stringify(answer));
  return `import { defineBridge } from './infra/bridge-config.ts';

export default defineBridge({
  name: ${name},
  accounts: [{ account_id: 'main', upstream_base_url: ${upstream}, key_secret_arn: ${key} }],
  alerts: { emails: [${email}]${slack === '""' ? '' : `, slack_webhook_secret_arn: ${slack}`} },
  api: { token_pepper_secret_arn: ${pepper} },
});
`;
}
