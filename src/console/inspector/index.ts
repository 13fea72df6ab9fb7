export { AgentRelay, type AgentRelayOptions } from './agent-relay.ts';
export { inspectorRoutes } from './routes.ts';
