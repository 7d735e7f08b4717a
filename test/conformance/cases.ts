/** Lists one row per call: how it succeeds, and each refusal that is documented. The rows run against any service. */

import type { CallId } from '../../shared/upstream/calls/calls.ts';
import type { Request, Service } from './service-under-test.ts';

type Prepared = Request | Promise<Request>;

export interface Case {
  /** Brings the service into a state in which the request succeeds, and returns the request. */
  readonly succeeds: (service: Service) => Prepared;
  readonly refusals: Readonly<
    Record<string, { readonly status: number; readonly when: (service: Service) => Prepared }>
  >;
}

const AUTH_PROVIDER = 'stack';
const UNKNOWN_PROJECT = 'no-such-project-00000001';

const ofProject = ({ projectId }: Service) => ({ project_id: projectId, auth_provider: AUTH_PROVIDER });

const refusal = (status: number, when: (service: Service) => Prepared) => ({ status, when });

const withAuth =
  (request: (service: Service) => Request) =>
  async (service: Service): Promise<Request> => {
    await service.withAuth();
    return request(service);
  };

const noProject = (request: (service: Service) => Request = () => ({})) =>
  refusal(404, (service) => {
    const { ids, ...rest } = request(service);
    return { ...rest, ids: { ...ids, project_id: UNKNOWN_PROJECT } };
  });

const noIntegration = (request: (service: Service) => Request = () => ({})) => refusal(404, request);

const standardServer = {
  type: 'standard',
  host: 'smtp.example.com',
  port: 587,
  username: 'mailer',
  password: 'a-password',
  sender_email: 'noreply@example.com',
  sender_name: 'Example',
};

const integrationBody = (service: Service) => ({ ...ofProject(service), branch_id: service.branchId });

const endpointBody = (branch_id: string, fields: object = {}) => ({
  body: { endpoint: { branch_id, type: 'read_write', ...fields } },
});

/** Expects 423 while an operation of the project runs. */
const locked = (request: (service: Service) => Request) =>
  refusal(423, async (service) => {
    await service.control('POST', `/projects/${service.projectId}/endpoints/${service.endpointId}/connect`);
    return request(service);
  });

export const cases: Readonly<Record<CallId, Case>> = {
  createAuthIntegration: {
    succeeds: (service) => ({ body: integrationBody(service) }),
    refusals: {
      'a second integration': refusal(
        409,
        withAuth((service) => ({ body: integrationBody(service) })),
      ),
      'no such project': refusal(404, (service) => ({
        body: { ...integrationBody(service), project_id: UNKNOWN_PROJECT },
      })),
      'no such branch': refusal(404, (service) => ({
        body: { ...integrationBody(service), branch_id: 'br-no-such-branch' },
      })),
      'a provider that is not supported': refusal(400, (service) => ({
        body: { ...integrationBody(service), auth_provider: 'other' },
      })),
      'no branch': refusal(400, (service) => ({ body: ofProject(service) })),
    },
  },
  listAuthIntegrations: { succeeds: withAuth(() => ({})), refusals: { 'no such project': noProject() } },
  createAuthKeys: {
    succeeds: withAuth((service) => ({ body: ofProject(service) })),
    refusals: {
      'no integration': noIntegration((service) => ({ body: ofProject(service) })),
      'no provider': refusal(400, ({ projectId }) => ({ body: { project_id: projectId } })),
    },
  },
  createAuthUser: {
    succeeds: withAuth((service) => ({
      body: { ...ofProject(service), email: 'ada@example.com', name: 'Ada' },
    })),
    refusals: {
      'no integration': noIntegration((service) => ({
        body: { ...ofProject(service), email: 'a@example.com' },
      })),
      'no e-mail address': refusal(400, (service) => ({ body: ofProject(service) })),
      'an empty name': refusal(400, (service) => ({
        body: { ...ofProject(service), email: 'a@example.com', name: '' },
      })),
      'a name of 256 characters': refusal(400, (service) => ({
        body: { ...ofProject(service), email: 'a@example.com', name: 'x'.repeat(256) },
      })),
    },
  },
  deleteAuthUser: {
    succeeds: async (service) => {
      await service.withAuth();
      const body = { ...ofProject(service), email: 'ada@example.com' };
      const created = await service.call('createAuthUser', { body });
      return { ids: { auth_user_id: created.body.id as string } };
    },
    refusals: {
      'no such user': refusal(
        404,
        withAuth(() => ({ ids: { auth_user_id: 'unknown-user' } })),
      ),
      'no such project': noProject(() => ({ ids: { auth_user_id: 'unknown-user' } })),
    },
  },
  transferAuthOwnership: {
    succeeds: withAuth((service) => ({ body: ofProject(service) })),
    refusals: { 'no integration': noIntegration((service) => ({ body: ofProject(service) })) },
  },
  deleteAuthIntegration: {
    succeeds: withAuth(() => ({ ids: { auth_provider: AUTH_PROVIDER } })),
    refusals: {
      'no integration': noIntegration(() => ({ ids: { auth_provider: AUTH_PROVIDER } })),
      'another provider': refusal(
        404,
        withAuth(() => ({ ids: { auth_provider: 'other' } })),
      ),
    },
  },
  listOauthProviders: {
    succeeds: withAuth(() => ({})),
    refusals: { 'no integration': noIntegration(), 'no such project': noProject() },
  },
  addOauthProvider: {
    succeeds: withAuth(() => ({ body: { id: 'microsoft', client_id: 'an-id', client_secret: 'a-secret' } })),
    refusals: {
      'a provider that exists already': refusal(
        409,
        withAuth(() => ({ body: { id: 'google' } })),
      ),
      'no id': refusal(
        400,
        withAuth(() => ({ body: {} })),
      ),
      'half of the credentials': refusal(
        400,
        withAuth(() => ({ body: { id: 'microsoft', client_id: 'an-id' } })),
      ),
      'no integration': noIntegration(() => ({ body: { id: 'google' } })),
    },
  },
  updateOauthProvider: {
    succeeds: withAuth(() => ({
      ids: { oauth_provider_id: 'google' },
      body: { client_id: 'an-id', client_secret: 'a-secret' },
    })),
    refusals: {
      'no such provider': refusal(
        404,
        withAuth(() => ({ ids: { oauth_provider_id: 'microsoft' }, body: {} })),
      ),
    },
  },
  deleteOauthProvider: {
    succeeds: withAuth(() => ({ ids: { oauth_provider_id: 'google' } })),
    refusals: {
      'no such provider': refusal(
        404,
        withAuth(() => ({ ids: { oauth_provider_id: 'microsoft' } })),
      ),
    },
  },
  listRedirectDomains: {
    succeeds: withAuth(() => ({})),
    refusals: { 'no integration': noIntegration(), 'no such project': noProject() },
  },
  addRedirectDomain: {
    succeeds: withAuth(() => ({ body: { domain: 'https://app.example.com', auth_provider: AUTH_PROVIDER } })),
    refusals: {
      'a domain without a scheme': refusal(
        400,
        withAuth(() => ({ body: { domain: 'app.example.com', auth_provider: AUTH_PROVIDER } })),
      ),
      'a domain with a path': refusal(
        400,
        withAuth(() => ({ body: { domain: 'https://app.example.com/path', auth_provider: AUTH_PROVIDER } })),
      ),
      'no integration': noIntegration(() => ({
        body: { domain: 'https://app.example.com', auth_provider: AUTH_PROVIDER },
      })),
    },
  },
  deleteRedirectDomains: {
    succeeds: withAuth(() => ({
      body: { auth_provider: AUTH_PROVIDER, domains: [{ domain: 'http://localhost' }] },
    })),
    refusals: {
      'no such domain': refusal(
        404,
        withAuth(() => ({
          body: { auth_provider: AUTH_PROVIDER, domains: [{ domain: 'https://no.example' }] },
        })),
      ),
      'no domains': refusal(
        400,
        withAuth(() => ({ body: { auth_provider: AUTH_PROVIDER } })),
      ),
    },
  },
  getEmailServer: { succeeds: withAuth(() => ({})), refusals: { 'no integration': noIntegration() } },
  updateEmailServer: {
    succeeds: withAuth(() => ({ body: standardServer })),
    refusals: {
      'a standard server without a password': refusal(
        400,
        withAuth(() => ({ body: { ...standardServer, password: undefined } })),
      ),
      'a port that is text': refusal(
        400,
        withAuth(() => ({ body: { ...standardServer, port: '587' } })),
      ),
      'another type': refusal(
        400,
        withAuth(() => ({ body: { type: 'other' } })),
      ),
      'no integration': noIntegration(() => ({ body: { type: 'shared' } })),
    },
  },
  listOperations: {
    succeeds: async (service) => {
      await service.wake();
      return { query: { limit: '5' } };
    },
    refusals: {
      'no such project': noProject(),
      'a limit of 0': refusal(400, () => ({ query: { limit: '0' } })),
      'a limit of 1001': refusal(400, () => ({ query: { limit: '1001' } })),
      'an invalid cursor': refusal(400, () => ({ query: { cursor: 'nonsense' } })),
    },
  },
  getOperation: {
    succeeds: async (service) => {
      await service.wake();
      const { body } = await service.call('listOperations');
      return { ids: { operation_id: body.operations[0].id as string } };
    },
    refusals: {
      'no such operation': refusal(404, () => ({
        ids: { operation_id: '00000000-0000-4000-8000-000000000000' },
      })),
    },
  },
  createEndpoint: {
    succeeds: async (service) => endpointBody(await service.emptyBranch()),
    refusals: {
      'a second read-write compute on a branch': refusal(409, ({ branchId }) => endpointBody(branchId)),
      'no such branch': refusal(404, () => endpointBody('br-no-such-branch')),
      'no such project': noProject(({ branchId }) => endpointBody(branchId)),
      'no branch': refusal(400, () => ({ body: { endpoint: { type: 'read_write' } } })),
      'no body': refusal(400, () => ({})),
      'a body that is not JSON': refusal(400, () => ({
        raw: { text: '{', contentType: 'application/json' },
      })),
      'a size that is not offered': refusal(400, ({ branchId }) =>
        endpointBody(branchId, {
          type: 'read_only',
          autoscaling_limit_min_cu: 17,
          autoscaling_limit_max_cu: 17,
        }),
      ),
      'conflicting operations': locked(({ branchId }) => endpointBody(branchId, { type: 'read_only' })),
    },
  },
  listEndpoints: { succeeds: () => ({}), refusals: { 'no such project': noProject() } },
  updateEndpoint: {
    succeeds: () => ({ body: { endpoint: { suspend_timeout_seconds: 600 } } }),
    refusals: {
      'no such compute': refusal(404, () => ({ ids: { endpoint_id: 'ep-none' }, body: { endpoint: {} } })),
      'autoscaling above 16': refusal(400, () => ({
        body: { endpoint: { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 18 } },
      })),
      'a suspend time-out above a week': refusal(400, () => ({
        body: { endpoint: { suspend_timeout_seconds: 604_801 } },
      })),
      'conflicting operations': locked(() => ({ body: { endpoint: { suspend_timeout_seconds: 600 } } })),
    },
  },
  deleteEndpoint: {
    succeeds: () => ({}),
    refusals: {
      'no such compute': refusal(404, () => ({ ids: { endpoint_id: 'ep-none' } })),
      'conflicting operations': locked(() => ({})),
    },
  },
  restartEndpoint: {
    succeeds: async (service) => {
      await service.wake();
      return {};
    },
    refusals: {
      'no such compute': refusal(404, () => ({ ids: { endpoint_id: 'ep-none' } })),
      'an idle compute': refusal(400, () => ({})),
      'conflicting operations': locked(() => ({})),
    },
  },
  listProjects: {
    succeeds: () => ({ query: { limit: '2' } }),
    refusals: { 'a limit of 401': refusal(400, () => ({ query: { limit: '401' } })) },
  },
};
