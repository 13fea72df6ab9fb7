export { DEFAULT_SCOPES, DEFAULT_WORKSPACE, SCOPES } from './api/caller.ts';
export { ConfigError, GatewayConfig, loadConfig, type LoadedConfig } from './config.ts';
export { createGateway, type Gateway } from './gateway.ts';
