/** Describes what is kept of one project's auth integration (specification "Auth integration" to "Email server"). */

interface AuthUser {
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
  readonly created_at: string;
}

export interface OauthProvider {
  readonly id: string;
  readonly type: 'shared' | 'standard';
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
}

interface RedirectDomain {
  readonly domain: string;
  readonly auth_provider: string;
}

export type EmailServer =
  | { readonly type: 'shared' }
  | {
      readonly type: 'standard';
      readonly host: string;
      readonly port: number;
      readonly username: string;
      readonly password: string;
      readonly sender_email: string;
      readonly sender_name: string;
    };

export interface AuthIntegration {
  readonly auth_provider: string;
  readonly auth_provider_project_id: string;
  readonly branch_id: string;
  readonly db_name: string;
  readonly created_at: string;
  /** The public contract knows two owners; `neon` is the service itself, while it manages the auth project. */
  readonly owned_by: 'neon' | 'user';
  readonly jwks_url: string;
  /** This says how far a transfer of ownership is (public contract), and is absent while there is none. */
  readonly transfer_status?: 'initiated' | 'finished';
}

export interface AuthState {
  readonly integration: AuthIntegration | undefined;
  /** The users table in the project's database contains these rows. */
  readonly users: readonly AuthUser[];
  readonly providers: readonly OauthProvider[];
  readonly domains: readonly RedirectDomain[];
  readonly emailServer: EmailServer;
  /** Holds the codes of transfers that were not confirmed in a browser yet. */
  readonly transferCodes: readonly string[];
}

export const NO_AUTH: AuthState = {
  integration: undefined,
  users: [],
  providers: [],
  domains: [],
  emailServer: { type: 'shared' },
  transferCodes: [],
};
