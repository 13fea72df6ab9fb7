/** The version and the default port. */
import manifest from '../../../package.json' with { type: 'json' };

export const VERSION = manifest.version;
export const DEFAULT_PORT = '41242';
