/** Serves the operations of EventBridge on connections and API destinations. */

import { z } from 'zod';
import { defineOperation, type Service } from '../services/service.ts';
import {
  type ApiDestination,
  type ApiDestinations,
  authParameters,
  type Connection,
} from './api-destinations.ts';

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
