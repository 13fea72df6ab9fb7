export { ConfigError } from '../config.ts';
export {
  createGateway,
  postgresRegister,
  type EmbeddedGateway,
  type GatewayKeyOptions,
  type GatewayOptions,
  type GatewaySettings,
  type SharedRegister,
} from './embedded.ts';
