/** The agent card: an agent's description, addresses, capabilities and skills. */
import * as z from 'zod';
import { Metadata } from './message.ts';

/** The organization that provides an agent. */
export const AgentProvider = z.looseObject({ organization: z.string(), url: z.string() });
export type AgentProvider = z.infer<typeof AgentProvider>;

/** An extension of the protocol that an agent card declares. */
export const AgentExtension = z.looseObject({
  uri: z.string().min(1),
  description: z.string().optional(),
  required: z.boolean().optional(),
  params: Metadata.optional(),
});
export type AgentExtension = z.infer<typeof AgentExtension>;

/** The optional features that an agent card declares. */
export const AgentCapabilities = z.looseObject({
  streaming: z.boolean().optional(),
  pushNotifications: z.boolean().optional(),
  stateTransitionHistory: z.boolean().optional(),
  extendedAgentCard: z.boolean().optional(),
  extensions: z.array(AgentExtension).optional(),
});
export type AgentCapabilities = z.infer<typeof AgentCapabilities>;

/**
 * The names of security schemes, with the scopes of each. A caller must satisfy all schemes of a requirement. If
 * there are several requirements, the caller must satisfy only one of them.
 */
export const SecurityRequirement = z.record(z.string(), z.array(z.string()));
export type SecurityRequirement = z.infer<typeof SecurityRequirement>;

/** A skill that an agent card lists. */
export const AgentSkill = z.looseObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  examples: z.array(z.string()).optional(),
  inputModes: z.array(z.string()).optional(),
  outputModes: z.array(z.string()).optional(),
  security: z.array(SecurityRequirement).optional(),
});
export type AgentSkill = z.infer<typeof AgentSkill>;

const flow = { refreshUrl: z.string().optional(), scopes: z.record(z.string(), z.string()) };
/** The OAuth flows of a security scheme, as in OpenAPI. */
export const OAuthFlows = z.looseObject({
  authorizationCode: z
    .looseObject({
      authorizationUrl: z.string(),
      tokenUrl: z.string(),
      pkceRequired: z.boolean().optional(),
      ...flow,
    })
    .optional(),
  clientCredentials: z.looseObject({ tokenUrl: z.string(), ...flow }).optional(),
  implicit: z.looseObject({ authorizationUrl: z.string(), ...flow }).optional(),
  password: z.looseObject({ tokenUrl: z.string(), ...flow }).optional(),
  deviceCode: z
    .looseObject({ deviceAuthorizationUrl: z.string(), tokenUrl: z.string(), ...flow })
    .optional(),
});
export type OAuthFlows = z.infer<typeof OAuthFlows>;

const description = z.string().optional();
/** A way to authenticate, as in OpenAPI. */
export const SecurityScheme = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('apiKey'),
    in: z.enum(['query', 'header', 'cookie']),
    name: z.string(),
    description,
  }),
  z.looseObject({
    type: z.literal('http'),
    scheme: z.string(),
    bearerFormat: z.string().optional(),
    description,
  }),
  z.looseObject({
    type: z.literal('oauth2'),
    flows: OAuthFlows,
    oauth2MetadataUrl: z.string().optional(),
    description,
  }),
  z.looseObject({ type: z.literal('openIdConnect'), openIdConnectUrl: z.string(), description }),
  z.looseObject({ type: z.literal('mutualTLS'), description }),
]);
export type SecurityScheme = z.infer<typeof SecurityScheme>;

/** One address of the agent, with the binding and the protocol version of this address. */
export const AgentInterface = z.looseObject({
  url: z.string().min(1),
  protocolBinding: z.string().min(1),
  protocolVersion: z.string().min(1),
  tenant: z.string().optional(),
});
export type AgentInterface = z.infer<typeof AgentInterface>;

/** A JSON Web Signature over an agent card. */
export const AgentCardSignature = z.looseObject({
  protected: z.string(),
  signature: z.string(),
  header: Metadata.optional(),
});
export type AgentCardSignature = z.infer<typeof AgentCardSignature>;

/**
 * The agent card in the internal format, which is the same for both protocol versions. As in 1.0, the addresses are in
 * `supportedInterfaces`. This field replaces `url`, `preferredTransport` and `additionalInterfaces` of 0.3.
 * `capabilities.extendedAgentCard` is also as in 1.0, where it replaces `supportsAuthenticatedExtendedCard`. The other
 * fields that both versions have keep their 0.3 names, such as `security`. The codecs convert between the internal
 * format and the formats of the versions.
 */
export const AgentCard = z.looseObject({
  name: z.string().min(1),
  description: z.string(),
  version: z.string(),
  supportedInterfaces: z.array(AgentInterface).min(1),
  provider: AgentProvider.optional(),
  documentationUrl: z.string().optional(),
  iconUrl: z.string().optional(),
  capabilities: AgentCapabilities,
  securitySchemes: z.record(z.string(), SecurityScheme).optional(),
  security: z.array(SecurityRequirement).optional(),
  defaultInputModes: z.array(z.string()),
  defaultOutputModes: z.array(z.string()),
  skills: z.array(AgentSkill),
  signatures: z.array(AgentCardSignature).optional(),
});
export type AgentCard = z.infer<typeof AgentCard>;

/** The bindings that Parley supports. A card may list others. */
export type Binding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC';
