/** Describes parts of a card in words. The words may contain text of the agent. */
import type { AgentCard, SecurityScheme } from '../../protocol/index.ts';

/** Returns the names of the optional features that the card declares. */
export function declaredFeatures({ capabilities }: AgentCard): string[] {
  return [
    capabilities.streaming === true && 'streaming',
    capabilities.pushNotifications === true && 'push notifications',
    capabilities.stateTransitionHistory === true && 'state history',
    capabilities.extendedAgentCard === true && 'extended card',
  ].filter((name) => name !== false);
}

/** Describes the security requirements. A caller must meet one of the requirements, with all its schemes. */
export function describeSecurity({ security = [], securitySchemes = {} }: AgentCard): string {
  if (security.length === 0) return 'none required';
  return security
    .map((requirement) =>
      Object.keys(requirement)
        .map((name) => describeScheme(name, securitySchemes[name]))
        .join(' and '),
    )
    .map((text) => text || 'nothing')
    .join(', or ');
}

function describeScheme(name: string, scheme: SecurityScheme | undefined): string {
  switch (scheme?.type) {
    case 'http':
      return `HTTP ${scheme.scheme}`;
    case 'apiKey':
      return `an API key in the ${scheme.in} ${scheme.name}`;
    case 'oauth2':
      return 'OAuth 2';
    case 'openIdConnect':
      return `OpenID Connect at ${scheme.openIdConnectUrl}`;
    case 'mutualTLS':
      return 'a client certificate';
    default:
      return `${name} (not described)`;
  }
}
