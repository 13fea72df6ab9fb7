/** Returns the host name of a URL. Removes the brackets around an IPv6 address. */
export function hostNameOf(url: string | URL): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** Returns whether the host is a loopback host, which only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Returns whether a request to the host reaches this machine. The unspecified addresses are included, because many
 * agent cards contain 0.0.0.0.
 */
export function isThisMachine(host: string): boolean {
  return isLoopback(host) || host === '0.0.0.0' || host === '::';
}
