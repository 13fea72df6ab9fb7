/**
 * Rules for the providers' model names. A model card may contain any name, but another spelling of the same name must
 * not lead to another price. Aliases and names of versions are treated as different names, because only the vendor
 * knows which names mean the same model.
 */

/**
 * Matches a part of a name that is safe as one segment of a URL's path. Its characters need no encoding, and it does
 * not consist only of dots.
 */
const SEGMENT = /^(?!\.+$)[\w.@-]+$/;

/**
 * Returns the name that is used to call a provider of this type, or undefined if the provider cannot have such a model.
 * A call to Google contains the name in the path of its URL. So a name must not lead to another path or method.
 */
export function calledName(type: string, given: string): string | undefined {
  if (type !== 'google') return given;
  const name = given.replace(/^(?:models\/)+/, '');
  return name.split('/').every((segment) => SEGMENT.test(segment)) ? name : undefined;
}

/**
 * Returns the name in a normalized form. Names that a provider of this type may treat as equal have the same form. Some
 * servers ignore case and surrounding spaces. Ollama adds the tag `latest` to a name without a tag. At Google, a name
 * can be the whole path of a model, such as `publishers/google/models/NAME`.
 */
export function comparedName(type: string, given: string): string {
  const name = given.trim().toLowerCase();
  if (type === 'google') return name.replace(/^(?:.*\/)?models\//, '');
  return type === 'openai-compatible' ? name.replace(/:latest$/, '') : name;
}
