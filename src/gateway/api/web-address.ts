/** The schema of an HTTP address in the configuration or in a request. */
import * as z from 'zod';

/**
 * The address must not contain credentials, because addresses appear in logs, and the HTTP client would not send the
 * credentials.
 */
export const WebAddress = z
  .string()
  .max(2048)
  .refine((text) => {
    const url = URL.parse(text);
    return (
      url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
    );
  }, 'must be an http or https address without credentials')
  .meta({ format: 'uri' });
