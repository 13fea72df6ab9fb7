/**
 * The names and addresses of model servers, for the schema of the settings. The settings may be read before the first
 * frame of the terminal UI, so this module does not load the framework.
 */
export {
  allServers,
  isLocalServer,
  keyVariablesOf,
  LOCAL_SERVERS,
  PROVIDER_TYPES,
  RESERVED_PREFIXES,
} from '../models/model-servers.ts';
