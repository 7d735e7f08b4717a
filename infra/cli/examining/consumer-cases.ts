/**
 * Plays the cases of docs/examples/consumer-cases.yaml against a consumer in any language. The consumer runs as a program of
 * its own for each case; a question is a line of JSON on its input, and the answer a line of JSON on its output.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Webhook } from 'standardwebhooks';
import { parse } from 'yaml';
import * as z from 'zod';
import { eventCatalog } from '../../../shared/events/catalog.ts';
import { EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { UsageError } from '../../process/command.ts';
import { packageFolder } from '../../process/package.ts';
import { within } from '../../process/surroundings.ts';

const event = z.union([
  z.strictObject({ text: z.string() }),
  z.strictObject({
    type: z.enum(eventCatalog.map(({ detailType }) => detailType)),
    with: z.looseObject({ id: z.string(), operation_id: z.string().optional() }),
  }),
]);

const delivery = z.strictObject({
  deliver: z.array(z.string()),
  failing: z.array(z.string()).default([]),
  effects: z.array(z.string()),
  /** `any` stands where one consumer waits for its own effect and another has it behind itself already. */
  again: z.union([z.array(z.number()), z.literal('any')]).default([]),
});

type Delivery = z.output<typeof delivery>;

const NEEDS = ['order', 'restart'] as const;

const signatureCase = z.strictObject({
  title: z.string(),
  signed_by: z.array(z.string()),
  secrets: z.array(z.string()),
  changed: z.enum(['body', 'webhook-id']).optional(),
  lacks: z.enum(['webhook-signature', 'webhook-timestamp']).optional(),
  age_seconds: z.number().default(0),
  accepted: z.boolean(),
});

const casesSchema = z.object({
  events: z.record(z.string(), event),
  deliveries: z.array(
    z.strictObject({
      title: z.string(),
      needs: z.enum(NEEDS).optional(),
      steps: z.array(z.union([delivery, z.strictObject({ restart: z.literal(true) })])),
    }),
  ),
  signatures: z.array(signatureCase),
});

/** What a consumer can lack: `--skip` leaves its cases out. */
export const CONSUMER_PARTS = [...NEEDS, 'signatures'] as const;

export type ConsumerPart = (typeof CONSUMER_PARTS)[number];

export interface ConsumerResult {
  readonly title: string;
  /** What the consumer did otherwise, in a sentence; absent when it did what the case asks for. */
  readonly fault?: string;
}

interface Trial {
  /** The program and its arguments, with spaces between them. */
  readonly program: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Plays every case but those of the skipped parts. Rejects when the signal aborts. */
export async function* playConsumerCases(
  skipped: readonly ConsumerPart[],
  trial: Trial,
): AsyncGenerator<ConsumerResult> {
  const path = join(packageFolder(), 'docs/examples/consumer-cases.yaml');
  const { events, deliveries, signatures } = casesSchema.parse(parse(readFileSync(path, 'utf8')));
  const runId = trial.clock.now().toString(36);
  for (const [place, { title, needs, steps }] of deliveries.entries()) {
    if (needs !== undefined && skipped.includes(needs)) continue;
    // A consumer that remembers knows nothing of a case when it begins, nor of an earlier run.
    const ofCase = (id: string) => `${runId}-${place}-${id}`;
    const bodies = new Map(Object.entries(events).map(([name, each]) => [name, bodyOf(each, ofCase)]));
    yield await resultOf(title, trial, async (consumer) => {
      for (const step of steps) {
        if ('restart' in step) await consumer.restart();
        else judgeDelivery(step, await consumer.ask(questionOf(step, { bodies, ofCase })), ofCase);
      }
    });
  }
  if (skipped.includes('signatures')) return;
  for (const each of signatures)
    yield await resultOf(each.title, trial, async (consumer) => {
      const { accepted } = z
        .object({ accepted: z.boolean() })
        .parse(await consumer.ask(signedBy(each, trial.clock)));
      if (accepted !== each.accepted) throw new Fault(`The consumer ${accepted ? 'takes' : 'refuses'} it.`);
    });
}

class Fault extends Error {}

async function resultOf(
  title: string,
  trial: Trial,
  play: (consumer: Consumer) => Promise<void>,
): Promise<ConsumerResult> {
  const consumer = startConsumer(trial);
  try {
    await play(consumer);
    return { title };
  } catch (thrown) {
    trial.signal.throwIfAborted();
    if (thrown instanceof UsageError) throw thrown;
    if (thrown instanceof z.ZodError)
      return {
        title,
        fault: `The answer has not the form that the cases describe: ${z.prettifyError(thrown)}`,
      };
    return { title, fault: toError(thrown).message };
  } finally {
    await consumer.end();
  }
}

/** Gives an id of the cases the form that it has in one case of one run. */
type OfCase = (id: string) => string;

function bodyOf(each: z.output<typeof event>, ofCase: OfCase): string {
  if ('text' in each) return each.text;
  const example = eventCatalog.find(({ detailType }) => detailType === each.type)?.example;
  const { id, operation_id } = each.with;
  const ids = { id: ofCase(id), ...(operation_id !== undefined && { operation_id: ofCase(operation_id) }) };
  const detail = { ...example, ...each.with, ...ids } as Readonly<Record<string, unknown>>;
  return JSON.stringify({
    version: '0',
    id: `envelope-of-${ids.id}`,
    'detail-type': each.type,
    source: EVENT_SOURCE,
    account: '123456789012',
    time: detail['observed_at'],
    region: 'eu-central-1',
    resources: [],
    detail,
  });
}

function questionOf(
  { deliver, failing }: Delivery,
  { bodies, ofCase }: { readonly bodies: ReadonlyMap<string, string>; readonly ofCase: OfCase },
): object {
  const texts = deliver.map((name) => bodies.get(name));
  if (texts.includes(undefined)) throw new Error(`The cases have no event ${deliver.join(' or ')}.`);
  return { deliver: texts, failing: failing.map(ofCase) };
}

const deliveryAnswer = z.object({ effects: z.array(z.string()), again: z.array(z.number()) });

function judgeDelivery({ deliver, effects, again }: Delivery, answer: unknown, ofCase: OfCase): void {
  const said = deliveryAnswer.parse(answer);
  const [wanted, had] = [effects.map(ofCase), said.effects].map((ids) => ids.toSorted().join(', '));
  const where = `After ${deliver.join(', ')}`;
  if (wanted !== had) throw new Fault(`${where} the effects are [${had}] instead of [${wanted}].`);
  if (again === 'any' || again.join() === said.again.toSorted((a, b) => a - b).join()) return;
  throw new Fault(`${where} [${said.again.join(', ')}] come again instead of [${again.join(', ')}].`);
}

/** Each secret of the cases has 24 bytes, which are its name repeated. */
function secretOf(name: string): string {
  return `whsec_${Buffer.alloc(24, name).toString('base64')}`;
}

function signedBy(each: z.output<typeof signatureCase>, clock: Clock): object {
  const [id, body] = ['msg_1', '{"source":"operations-bridge","detail":{"id":"e-1","name":"wörld"}}'];
  const signedAt = new Date(clock.now() - each.age_seconds * 1_000);
  const headers: Record<string, string> = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(signedAt.getTime() / 1_000)),
    'webhook-signature': each.signed_by
      .map((name) => new Webhook(secretOf(name)).sign(id, signedAt, body))
      .join(' '),
  };
  if (each.lacks !== undefined) delete headers[each.lacks];
  if (each.changed === 'webhook-id') headers['webhook-id'] = 'msg_2';
  const sent = each.changed === 'body' ? body.replace('e-1', 'e-2') : body;
  return { verify: { body: sent, headers, secrets: each.secrets.map(secretOf) } };
}

interface Consumer {
  /** Rejects when the program ends, or gives no answer within the time. */
  ask(question: object): Promise<unknown>;
  restart(): Promise<void>;
  end(): Promise<void>;
}

/** An effect of a case is done at once, and a program may need some seconds to start. */
const ANSWER_MS_MAX = 30_000;

function startConsumer({ program, clock, signal }: Trial): Consumer {
  const start = () => {
    const [name = '', ...args] = program.split(' ').filter((part) => part !== '');
    // What it prints as errors is for the person who writes it.
    const child = spawn(name, args, { stdio: ['pipe', 'pipe', 'inherit'], signal });
    const ended = once(child, 'close').then(
      ([code]) => new Fault(`The program has ended with the code ${String(code)}.`),
      (error: Error) =>
        new UsageError(
          `The program "${program}" cannot be run (${error.message}); name one that can, with its arguments.`,
        ),
    );
    child.stdin.on('error', () => undefined);
    return { child, ended, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
  };
  let running = start();
  const end = async () => {
    running.child.stdin.end();
    await within(ANSWER_MS_MAX, { clock, signal }, async (inTime) => {
      inTime.addEventListener('abort', () => running.child.kill('SIGKILL'), { once: true });
      await running.ended;
    });
  };
  return {
    async ask(question) {
      const { child, ended, lines } = running;
      child.stdin.write(`${JSON.stringify(question)}\n`);
      const line = await within(ANSWER_MS_MAX, { clock, signal }, (inTime) => {
        const late = once(inTime, 'abort').then(() => {
          throw new Fault('The program gave no answer for 30 seconds.');
        });
        return Promise.race([lines.next(), late]);
      });
      if (line.done === true) throw await ended;
      try {
        return JSON.parse(line.value) as unknown;
      } catch {
        throw new Fault(`The program answered with what is no JSON: ${line.value.slice(0, 200)}`);
      }
    },
    async restart() {
      await end();
      running = start();
    },
    end,
  };
}
