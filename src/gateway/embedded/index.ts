export { ConfigError } from '../config.ts';
export {
  createGateway,
  type EmbeddedGateway,
  type GatewayKeyOptions,
  type GatewayOptions,
  type GatewaySettings,
} from './embedded.ts';
