/** The flags for HTTPS and proxies. tls.ts reads the files. */
import { option, toggle } from './flags.ts';

export const TLS_FLAGS = {
  'tls-cert': option(
    'FILE',
    'Serve HTTPS with this certificate (PEM, with its chain). Needs --tls-key.',
  ),
  'tls-key': option('FILE', 'The private key of --tls-cert (PEM, not encrypted).'),
} as const;

export const TRUST_PROXY_FLAG = toggle(
  'Trust a proxy on this machine: its requests count as local ones, which need no token unless the server requires one. Use it only if the proxy authenticates its callers.',
);
