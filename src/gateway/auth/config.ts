/** The part of the configuration about who may call. */
import * as z from 'zod';
import { RateLimit, WorkspaceName } from '../keys/schema.ts';

const ClaimName = z.string().min(1).max(128);
const Audience = z.string().min(1).max(512);

export const OidcConfig = z
  .strictObject({
    issuer: z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .describe('The issuer, exactly as its tokens name it'),
    audience: z
      .union([Audience, z.array(Audience).min(1).max(16)])
      .describe('What tokens for this gateway have as their audience; one of several is enough'),
    workspaceClaim: ClaimName.default('workspace').describe(
      'The claim that names the workspace; a token without it is refused',
    ),
    scopeClaim: ClaimName.default('scope').describe(
      'The claim with the scopes: a list, or text with spaces. Those that the gateway does not know do not count, nor does *',
    ),
    workspaces: z
      .record(z.string().min(1).max(256), WorkspaceName)
      .optional()
      .describe(
        'What the workspace claim says, and the workspace it stands for; no other is let in',
      ),
  })
  .describe('An OpenID Connect issuer whose JWTs are taken instead of keys');
export type OidcConfig = Readonly<z.infer<typeof OidcConfig>>;

export const KeysConfig = z.strictObject({
  oidc: OidcConfig.optional(),
  rateLimit: RateLimit.optional().describe(
    'For keys that have no rate limit of their own, and for callers with a JWT',
  ),
});
export type KeysConfig = Readonly<z.infer<typeof KeysConfig>>;
