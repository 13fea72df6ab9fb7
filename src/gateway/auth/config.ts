/** The configuration of authentication. */
import * as z from 'zod';
import { RateLimit, WorkspaceName } from '../keys/schema.ts';

const ClaimName = z.string().min(1).max(128);
const Audience = z.string().min(1).max(512);

export const OidcConfig = z
  .strictObject({
    issuer: z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .describe('The issuer, exactly as in the `iss` claim of its tokens'),
    audience: z
      .union([Audience, z.array(Audience).min(1).max(16)])
      .describe(
        'The audience of tokens for this gateway, or a list of audiences. A token must have at least one of them',
      ),
    workspaceClaim: ClaimName.default('workspace').describe(
      'The claim that contains the workspace. A token without this claim is rejected',
    ),
    scopeClaim: ClaimName.default('scope').describe(
      'The claim that contains the scopes, as a list or as a string separated by spaces. Unknown scopes and * are ignored',
    ),
    workspaces: z
      .record(z.string().min(1).max(256), WorkspaceName)
      .optional()
      .describe(
        'Maps values of the workspace claim to workspaces. A token with any other value is rejected',
      ),
  })
  .describe('An OpenID Connect issuer whose JWTs are accepted instead of keys');
export type OidcConfig = Readonly<z.infer<typeof OidcConfig>>;

export const KeysConfig = z.strictObject({
  oidc: OidcConfig.optional(),
  rateLimit: RateLimit.optional().describe(
    'The rate limit of keys without their own rate limit, and of callers with a JWT',
  ),
});
export type KeysConfig = Readonly<z.infer<typeof KeysConfig>>;
