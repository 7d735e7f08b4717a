/**
 * Keeps connections and API destinations, which together say where and how EventBridge calls an HTTP address, and
 * serves the operations on them.
 */

import { z } from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import {
  apiDestinationArn,
  connectionArn as connectionArnOf,
  defineOperation,
  type Service,
  ServiceError,
} from '../protocol.ts';

const parameter = z.object({ Key: z.string(), Value: z.string() });
const parametersSchema = z.array(parameter).default([]);

/** Only what a request needs. The secrets among these values are in no answer. */
const authParameters = z.object({
  BasicAuthParameters: z.object({ Username: z.string(), Password: z.string() }).optional(),
  ApiKeyAuthParameters: z.object({ ApiKeyName: z.string(), ApiKeyValue: z.string() }).optional(),
  InvocationHttpParameters: z
    .object({
      HeaderParameters: parametersSchema,
      QueryStringParameters: parametersSchema,
      BodyParameters: parametersSchema,
    })
    .optional(),
});

export interface Connection {
  readonly name: string;
  readonly arn: string;
  readonly type: 'BASIC' | 'API_KEY';
  readonly parameters: z.output<typeof authParameters>;
  readonly createdMs: number;
}

export interface ApiDestination {
  readonly name: string;
  readonly arn: string;
  readonly connectionArn: string;
  /** An asterisk stands for the next value of the target's `PathParameterValues`. */
  readonly endpoint: string;
  readonly method: string;
  readonly createdMs: number;
}

export interface ApiDestinations {
  /** Throws a `ServiceError` when the name is taken, as all of these do when AWS would refuse. */
  connect(connection: Pick<Connection, 'name' | 'type' | 'parameters'>): Connection;
  add(destination: Pick<ApiDestination, 'name' | 'connectionArn' | 'endpoint' | 'method'>): ApiDestination;
  connection(name: string): Connection;
  destination(name: string): ApiDestination;
  removeConnection(name: string): Connection;
  removeDestination(name: string): void;
  connections(): readonly Connection[];
  destinations(): readonly ApiDestination[];
  /** Returns undefined when the destination or its connection does not exist any more. */
  byArn(arn: string): { readonly destination: ApiDestination; readonly connection: Connection } | undefined;
}

/** A trial needs one of each. */
const API_DESTINATIONS_MAX = 100;

interface Ports {
  readonly clock: Clock;
  readonly newId: () => string;
}

export function createApiDestinations({ clock, newId }: Ports): ApiDestinations {
  const connections = createNamed<Connection>('Connection');
  const destinations = createNamed<ApiDestination>('ApiDestination');
  return {
    connect({ name, type, parameters: given }) {
      const arn = connectionArnOf(name, newId());
      return connections.add({ name, type, parameters: given, arn, createdMs: clock.now() });
    },
    add({ name, connectionArn: connection, endpoint, method }) {
      if (!connections.all().some(({ arn }) => arn === connection))
        throw new ServiceError('ResourceNotFoundException', `Connection '${connection}' does not exist.`);
      checkEndpoint(endpoint);
      const arn = apiDestinationArn(name, newId());
      return destinations.add({
        name,
        connectionArn: connection,
        endpoint,
        method,
        arn,
        createdMs: clock.now(),
      });
    },
    connection: (name) => connections.get(name),
    destination: (name) => destinations.get(name),
    removeConnection: (name) => connections.remove(name),
    removeDestination: (name) => void destinations.remove(name),
    connections: () => connections.all(),
    destinations: () => destinations.all(),
    byArn(arn) {
      const destination = destinations.all().find((each) => each.arn === arn);
      const connection = connections.all().find((each) => each.arn === destination?.connectionArn);
      return destination && connection && { destination, connection };
    },
  };
}

function createNamed<Value extends { readonly name: string }>(kind: string) {
  const values = new Map<string, Value>();
  const get = (name: string): Value => {
    const value = values.get(name);
    if (value !== undefined) return value;
    throw new ServiceError(
      'ResourceNotFoundException',
      `Failed to describe the ${kind}. ${kind} '${name}' does not exist.`,
    );
  };
  return {
    get,
    add(value: Value): Value {
      if (values.has(value.name))
        throw new ServiceError('ResourceAlreadyExistsException', `${kind} ${value.name} already exists.`);
      if (values.size >= API_DESTINATIONS_MAX)
        throw new ServiceError(
          'LimitExceededException',
          `The local AWS keeps at most ${API_DESTINATIONS_MAX} of each kind. Delete one.`,
        );
      values.set(value.name, value);
      return value;
    },
    remove(name: string): Value {
      const value = get(name);
      values.delete(name);
      return value;
    },
    all: (): readonly Value[] => [...values.values()],
  };
}

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/** AWS takes HTTPS only. Here a server of this machine is reached without encryption, too. */
function checkEndpoint(endpoint: string): void {
  const url = URL.parse(endpoint.replaceAll('*', 'x'));
  const isPlain = url?.protocol === 'http:' && LOOPBACK.includes(url.hostname);
  if (url?.protocol === 'https:' || isPlain) return;
  throw new ServiceError(
    'ValidationException',
    `Parameter InvocationEndpoint is not valid. Reason: ${endpoint} is neither an https address nor an http address of this machine.`,
  );
}

const name = z.string().regex(/^[.\-_A-Za-z0-9]{1,64}$/);
const named = z.object({ Name: name });
/** An OAuth server is not part of the local AWS, so a connection with OAuth is refused. */
const connection = z.object({
  Name: name,
  AuthorizationType: z.enum(['BASIC', 'API_KEY']),
  AuthParameters: authParameters,
});
const destination = z.object({
  Name: name,
  ConnectionArn: z.string(),
  InvocationEndpoint: z.string().min(1).max(2_048),
  HttpMethod: z.enum(['POST', 'GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE']),
});

export function createDestinationOperations(destinations: ApiDestinations): Service {
  return new Map([...connectionOperations(destinations), ...apiDestinationOperations(destinations)]);
}

function connectionOperations(destinations: ApiDestinations): Service {
  return new Map([
    [
      'CreateConnection',
      defineOperation(connection, ({ Name, AuthorizationType, AuthParameters }) =>
        shownConnection(
          destinations.connect({ name: Name, type: AuthorizationType, parameters: AuthParameters }),
        ),
      ),
    ],
    [
      'DescribeConnection',
      defineOperation(named, ({ Name }) => shownConnection(destinations.connection(Name))),
    ],
    [
      'ListConnections',
      defineOperation(z.object({}), () => ({ Connections: destinations.connections().map(shownConnection) })),
    ],
    [
      'DeleteConnection',
      defineOperation(named, ({ Name }) => ({
        ...shownConnection(destinations.removeConnection(Name)),
        ConnectionState: 'DELETING',
      })),
    ],
  ]);
}

function apiDestinationOperations(destinations: ApiDestinations): Service {
  return new Map([
    [
      'CreateApiDestination',
      defineOperation(destination, ({ Name, ConnectionArn, InvocationEndpoint, HttpMethod }) =>
        shownDestination(
          destinations.add({
            name: Name,
            connectionArn: ConnectionArn,
            endpoint: InvocationEndpoint,
            method: HttpMethod,
          }),
        ),
      ),
    ],
    [
      'DescribeApiDestination',
      defineOperation(named, ({ Name }) => shownDestination(destinations.destination(Name))),
    ],
    [
      'ListApiDestinations',
      defineOperation(z.object({}), () => ({
        ApiDestinations: destinations.destinations().map(shownDestination),
      })),
    ],
    [
      'DeleteApiDestination',
      defineOperation(named, ({ Name }) => {
        destinations.removeDestination(Name);
        return {};
      }),
    ],
  ]);
}

/** Names users, but shows no password and no key. */
function shownConnection({ name: Name, arn, type, parameters, createdMs }: Connection): object {
  const { BasicAuthParameters: basic, ApiKeyAuthParameters: apiKey } = parameters;
  return {
    Name,
    ConnectionArn: arn,
    ConnectionState: 'AUTHORIZED',
    AuthorizationType: type,
    AuthParameters: {
      ...(basic && { BasicAuthParameters: { Username: basic.Username } }),
      ...(apiKey && { ApiKeyAuthParameters: { ApiKeyName: apiKey.ApiKeyName } }),
    },
    CreationTime: createdMs / 1_000,
    LastModifiedTime: createdMs / 1_000,
  };
}

function shownDestination({
  name: Name,
  arn,
  connectionArn,
  endpoint,
  method,
  createdMs,
}: ApiDestination): object {
  return {
    Name,
    ApiDestinationArn: arn,
    ApiDestinationState: 'ACTIVE',
    ConnectionArn: connectionArn,
    InvocationEndpoint: endpoint,
    HttpMethod: method,
    CreationTime: createdMs / 1_000,
    LastModifiedTime: createdMs / 1_000,
  };
}
