// An authorization server on loopback: node authorization_server.mjs PORT RESOURCE. People log in with any name, clients
// register themselves, and the client "machine" has a secret. Its access tokens are JWTs for RESOURCE.
import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';

const [port, resource] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
const provider = new Provider(issuer, {
  jwks: { keys: [{ ...key, kid: 'signing', use: 'sig', alg: 'RS256' }] },
  cookies: { keys: ['of a server that lives for seconds'] },
  scopes: ['openid', 'offline_access', 'tools'],
  pkce: { required: () => true },
  clients: [
    {
      client_id: 'machine',
      client_secret: 'of-a-server-that-lives-for-seconds',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  features: {
    clientCredentials: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, asked) => ({
        audience: asked,
        scope: 'tools',
        accessTokenTTL: 60,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});
provider.listen(Number(port), '127.0.0.1', () => console.log(`${issuer} issues tokens for ${resource}`));
