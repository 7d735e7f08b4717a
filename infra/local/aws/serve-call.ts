/** Serves one call of the local AWS: it counts the call, injects faults, and hands the call to its service. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { toError } from '../../../shared/runtime/errors.ts';
import { answer, answerError, loseReply, type Refusal, readBody, readBytes } from './json-answer.ts';
import type { EventBusOptions } from './services/event-bus.ts';
import type { QueryService } from './services/roles.ts';
import { type Service, ServiceError } from './services/service.ts';
import { callOf, faultOf, type LocalAwsCall } from './signed-call.ts';
import { handleWithFaults, type TableFaults, type TablesWithMemory } from './table-faults.ts';

/** These faults are for tests and demonstrations. All are off by default. */
export interface LocalAwsFaults extends TableFaults {
  /** Refuses the call before anything is done. */
  beforeCall?(call: LocalAwsCall): Refusal | undefined;
  /** Returns true to do the work and break the connection before the answer. */
  losesReply?(call: LocalAwsCall): boolean;
  /** Returns the error code that one entry of PutEvents is refused with. */
  failEntry?: EventBusOptions['failEntry'];
}

export interface LocalServices {
  readonly tables: TablesWithMemory;
  /** The keys are the names of the services in the signature's scope. */
  readonly services: ReadonlyMap<string, Service>;
  /** These services have the older protocol: the action is a field of a form, and the answer is XML. */
  readonly queryServices: ReadonlyMap<string, QueryService>;
  readonly faults: LocalAwsFaults;
  readonly counts: Map<string, number>;
  readonly accessKeyId: string;
}

export async function serveCall(
  local: LocalServices,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { tables, services, queryServices, faults, counts } = local;
  try {
    const fault = faultOf(request, local.accessKeyId);
    if (fault !== undefined) return answerError(response, fault);
    const call = callOf(request);
    const queryService = queryServices.get(call.service);
    if (queryService !== undefined) {
      const form = new URLSearchParams((await readBytes(request)).toString());
      noteCall(counts, `${call.service}:${form.get('Action')}`);
      const { status, xml } = queryService(form);
      return void response.writeHead(status, { 'content-type': 'text/xml' }).end(xml);
    }
    const action = `${call.service}:${call.operation}`;
    noteCall(counts, action);
    const refusal = faults.beforeCall?.(call);
    if (refusal !== undefined) return answerError(response, refusal);
    if (faults.losesReply?.(call) === true) loseReply(response);
    if (call.service === 'dynamodb') return await handleWithFaults(tables, faults, call, request, response);
    const operation = services.get(call.service)?.get(call.operation);
    if (operation === undefined) {
      throw new ServiceError('UnknownOperationException', `${action} is not part of the local AWS`);
    }
    answer(response, 200, await operation(await readBody(request)));
  } catch (error) {
    answerError(response, refusalOf(toError(error)));
  }
}

function refusalOf(error: Error): Refusal {
  const { message } = error;
  if (!(error instanceof ServiceError)) return { type: 'InternalFailure', message };
  const { name: type, queryCode } = error;
  return queryCode === undefined ? { type, message } : { type, message, queryCode };
}

function noteCall(counts: Map<string, number>, action: string): void {
  counts.set(action, (counts.get(action) ?? 0) + 1);
}
