/**
 * The flags for HTTPS and proxies. They have their own file, so that loading the flags does not load the modules that
 * `tls.ts` needs.
 */
import { option, toggle } from './flags.ts';

export const TLS_FLAGS = {
  'tls-cert': option(
    'FILE',
    'Serve HTTPS with this certificate (PEM, with its chain). Needs --tls-key.',
  ),
  'tls-key': option('FILE', 'The private key of --tls-cert (PEM, not encrypted).'),
} as const;

export const TRUST_PROXY_FLAG = toggle(
  'Treat requests through a proxy on this machine like other local requests. They need no token, unless the server was started with tokens. Use this only if the proxy authenticates its callers.',
);
