/** `operations-bridge init` asks six questions at most, and writes the smallest configuration that can be deployed. */

import { existsSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import { deployedUpstreamBaseUrl, secretArn } from '../../../shared/config/account-rules.ts';
import { UsageError } from '../../process/command.ts';
import { type Asked, acting } from './subcommand.ts';

interface InitValues {
  readonly upstream?: string;
  readonly keySecret?: string;
  readonly pepperSecret?: string;
  readonly email?: string;
  readonly slackSecret?: string;
  readonly name?: string;
  readonly output: string;
}

type Answers = Readonly<Record<Exclude<keyof InitValues, 'output'>, string>>;

interface Question {
  readonly answer: keyof Answers;
  readonly flag: string;
  readonly asks: string;
  /** An empty answer means this. A question without it must be answered. */
  readonly usual?: string;
  readonly form: z.ZodType;
  /** Says what an answer must be. */
  readonly wants: string;
}

const ARN_WANTED = 'the complete ARN of a secret, as "aws secretsmanager create-secret" has printed it';

const QUESTIONS: readonly Question[] = [
  {
    answer: 'keySecret',
    flag: '--key-secret',
    asks: 'ARN of the secret with your Neon API key',
    form: secretArn,
    wants: ARN_WANTED,
  },
  {
    answer: 'pepperSecret',
    flag: '--pepper-secret',
    asks: 'ARN of the secret with the token pepper',
    form: secretArn,
    wants: ARN_WANTED,
  },
  {
    answer: 'email',
    flag: '--email',
    asks: 'Address for alerts and alarms',
    form: z.email(),
    wants: 'an e-mail address',
  },
  {
    answer: 'slackSecret',
    flag: '--slack-secret',
    asks: 'ARN of the secret of Slack, for alerts there too',
    usual: '',
    form: z.union([z.literal(''), secretArn]),
    wants: `nothing, or ${ARN_WANTED}`,
  },
  {
    answer: 'upstream',
    flag: '--upstream',
    asks: 'Base URL of the API',
    usual: 'https://console.neon.tech/api/v2',
    form: deployedUpstreamBaseUrl,
    wants: 'an https address that ends with /api/v2',
  },
  {
    answer: 'name',
    flag: '--name',
    asks: 'Name of the bridge and of its bus',
    usual: 'operations-bridge',
    form: z.string().regex(/^[a-z][a-z0-9-]{1,30}$/),
    wants: '2 to 31 small letters, digits and hyphens, a letter first',
  },
];

export const initSubcommand = acting<InitValues>({
  usage: 'init',
  summary: 'Asks six questions, and writes the smallest bridge.config.ts.',
  description:
    'It runs in a clone of the bridge and changes nothing on AWS. A question whose option is given is not asked. ' +
    'bridge.config.example.ts shows all other settings.',
  examples: [
    'operations-bridge init',
    'operations-bridge init --key-secret "$KEY_ARN" --pepper-secret "$PEPPER_ARN" --email oncall@your-company.com --slack-secret "" --upstream https://console.neon.tech/api/v2 --name operations-bridge',
  ],
  options: [
    ...QUESTIONS.map(({ flag, asks }) => [`${flag} <text>`, asks] as const),
    ['--output <file>', 'writes this new file', 'bridge.config.ts'],
    ['--json', 'prints the name of the file as JSON'],
  ],
  act: init,
});

async function init(asked: Asked<InitValues>): Promise<void> {
  const { output } = asked.values;
  if (!existsSync('infra/bridge-config.ts'))
    throw new UsageError(
      'This is no clone of the bridge: there is no infra/bridge-config.ts here. Change to its folder.',
    );
  if (existsSync(output))
    throw new UsageError(`${output} exists already. Move it away, or name another with --output.`);
  const answers: Record<string, string> = {};
  for (const question of QUESTIONS) answers[question.answer] = await answerTo(question, asked);
  writeFileSync(output, configurationOf(answers as Answers), { flag: 'wx' });
  asked.show({ file: output }, `${output} is written. Next: npx cdk deploy`);
}

/** Asks again until the answer can be used. Where nobody can be asked, an answer comes from its option or its usual value. */
async function answerTo(question: Question, { values, ask, note }: Asked<InitValues>): Promise<string> {
  const { answer, flag, asks, usual, form, wants } = question;
  const given = values[answer] ?? (ask === undefined ? usual : undefined);
  if (given !== undefined) {
    if (form.safeParse(given).success) return given;
    throw new UsageError(`${flag} takes ${wants}.`);
  }
  if (ask === undefined) throw new UsageError(`${flag} is missing: it takes ${wants}.`);
  for (;;) {
    const text =
      (await ask(`${asks}${usual === undefined ? '' : ` [${usual || 'none'}]`}: `)) || (usual ?? '');
    if (form.safeParse(text).success) return text;
    note(`It takes ${wants}.`);
  }
}

function configurationOf({ upstream, keySecret, pepperSecret, email, slackSecret, name }: Answers): string {
  const text = (value: string) => JSON.stringify(value);
  const slack = slackSecret === '' ? '' : `, slack_webhook_secret_arn: ${text(slackSecret)}`;
  return `import { defineBridge } from './infra/bridge-config.ts';

export default defineBridge({
  name: ${text(name)},
  accounts: [{ account_id: 'main', upstream_base_url: ${text(upstream)}, key_secret_arn: ${text(keySecret)} }],
  alerts: { emails: [${text(email)}]${slack} },
  api: { token_pepper_secret_arn: ${text(pepperSecret)} },
});
`;
}
