/**
 * Runs a state machine in Amazon States Language (states-language.net, with JSONPath) as far as the example of the documents uses it: Task with
 * Lambda, with and without a task token, Choice by `IsPresent`, Fail and Succeed. Whatever it does not know, it refuses.
 */

import * as z from 'zod';

const task = z.strictObject({
  Type: z.literal('Task'),
  Resource: z.enum(['arn:aws:states:::lambda:invoke', 'arn:aws:states:::lambda:invoke.waitForTaskToken']),
  HeartbeatSeconds: z.number().int().positive().optional(),
  TimeoutSeconds: z.number().int().positive(),
  Parameters: z.strictObject({ FunctionName: z.string(), Payload: z.record(z.string(), z.unknown()) }),
  ResultPath: z.string().regex(/^\$\.\w+$/),
  Catch: z
    .tuple([
      z.strictObject({
        ErrorEquals: z.tuple([z.literal('States.ALL')]),
        ResultPath: z.string().regex(/^\$\.\w+$/),
        Next: z.string(),
      }),
    ])
    .optional(),
  Next: z.string(),
});

const choice = z.strictObject({
  Type: z.literal('Choice'),
  Choices: z.array(z.strictObject({ Variable: z.string(), IsPresent: z.literal(true), Next: z.string() })),
  Default: z.string(),
});

const definition = z.strictObject({
  Comment: z.string(),
  StartAt: z.string(),
  States: z.record(
    z.string(),
    z.discriminatedUnion('Type', [
      task,
      choice,
      z.strictObject({ Type: z.literal('Fail'), Error: z.string() }),
      z.strictObject({ Type: z.literal('Succeed') }),
    ]),
  ),
});

type Data = Record<string, unknown>;

/** A task has ended in failure. The name is the error of Amazon States Language. */
export class TaskFailed extends Error {
  constructor(name: string, cause: string) {
    super(cause);
    this.name = name;
  }
}

export interface Surroundings {
  readonly executionName: string;
  readonly functions: Readonly<Record<string, (payload: Data) => Promise<unknown>>>;
  /** Returns the token of a new task, and the promise of its end, which rejects with `TaskFailed`. */
  readonly openTask: () => { readonly token: string; readonly end: Promise<unknown> };
}

export interface Execution {
  readonly status: 'SUCCEEDED' | 'FAILED';
  readonly error: string | undefined;
  readonly cause?: string;
  /** The names of the states, as they were entered. */
  readonly entered: readonly string[];
  readonly data: Data;
}

export async function execute(source: unknown, input: Data, surroundings: Surroundings): Promise<Execution> {
  const { StartAt, States } = definition.parse(source);
  const entered: string[] = [];
  let data = input;
  for (let name = StartAt; ; ) {
    const state = States[name];
    if (state === undefined) throw new Error(`There is no state ${name}`);
    entered.push(name);
    if (state.Type === 'Succeed') return { status: 'SUCCEEDED', error: undefined, entered, data };
    if (state.Type === 'Fail') return { status: 'FAILED', error: state.Error, entered, data };
    if (state.Type === 'Choice') {
      name = state.Choices.find(({ Variable }) => at(data, Variable) !== undefined)?.Next ?? state.Default;
      continue;
    }
    try {
      data = { ...data, [state.ResultPath.slice(2)]: await runTask(state, data, surroundings) };
      name = state.Next;
    } catch (thrown) {
      const failure = thrown instanceof Error ? thrown : new Error(String(thrown));
      const [caught] = state.Catch ?? [];
      if (caught === undefined)
        return { status: 'FAILED', error: failure.name, cause: failure.message, entered, data };
      data = { ...data, [caught.ResultPath.slice(2)]: { Error: failure.name, Cause: failure.message } };
      name = caught.Next;
    }
  }
}

async function runTask(
  { Resource, Parameters: { FunctionName, Payload } }: z.output<typeof task>,
  data: Data,
  { executionName, functions, openTask }: Surroundings,
): Promise<unknown> {
  const invoke = functions[FunctionName];
  if (invoke === undefined) throw new Error(`There is no function ${FunctionName}`);
  const waits = Resource.endsWith('.waitForTaskToken');
  const { token, end } = waits ? openTask() : { token: undefined, end: undefined };
  // The function may fail before anybody waits for the task.
  end?.catch(() => {});
  const context = { Execution: { Name: executionName }, Task: { Token: token } };
  const returned = await invoke(filledIn(Payload, { data, context }));
  // An optimized integration puts what the function returned under this name.
  return waits ? end : { Payload: returned };
}

interface Scope {
  readonly data: Data;
  readonly context: Data;
}

function filledIn(template: Data, scope: Scope): Data {
  return Object.fromEntries(
    Object.entries(template).map(([name, value]) =>
      name.endsWith('.$') ? [name.slice(0, -2), resolved(String(value), scope)] : [name, value],
    ),
  );
}

function resolved(expression: string, scope: Scope): unknown {
  const format = /^States\.Format\('([^']*)', (.*)\)$/.exec(expression);
  if (format === null)
    return expression.startsWith('$$') ? at(scope.context, expression.slice(1)) : at(scope.data, expression);
  const [, text = '', list = ''] = format;
  const values = list.split(', ').map((each) => String(resolved(each, scope)));
  return text.replaceAll('{}', () => values.shift() ?? '');
}

function at(value: unknown, path: string): unknown {
  return path
    .split('.')
    .slice(1)
    .reduce((inner, name) => (inner as Data | undefined)?.[name], value);
}
