/** Addresses that the configuration and callers name. */
import * as z from 'zod';

/** Secrets go elsewhere: what stands in an address turns up in logs, and no client of ours would send it. */
export const WebAddress = z
  .string()
  .max(2048)
  .refine((text) => {
    const url = URL.parse(text);
    return (
      url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
    );
  }, 'an http or https address without credentials in it')
  .meta({ format: 'uri' });
