/**
 * Replaces the SDK's chain of credential providers in what is deployed. Lambda passes the role's credentials in the
 * environment (Lambda Developer Guide, "Defined runtime environment variables"), where the chain looks first. The
 * rest of the chain - profiles, single sign-on, instance metadata - would be a third of the bundle.
 */

export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';
