export { type AgentRelayOptions, inspectorRoutes } from './agent-relay.ts';
