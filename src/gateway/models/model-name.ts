/**
 * The providers' names for models. A model card may contain any name, but another spelling of a name must not lead to
 * another price. Only the vendor knows its aliases and the names of its versions. So they are different names here.
 */

/** Matches a part of a name that stays one segment of a path. It is not `.` or `..`, and needs no encoding. */
const SEGMENT = /^(?!\.+$)[\w.@-]+$/;

/**
 * Returns the name that is used to call a provider of this type, or undefined if the provider cannot have such a model.
 * Google's names are put into the path of the URL. So a name must not change the path or the method of the call.
 */
export function calledName(type: string, given: string): string | undefined {
  if (type !== 'google') return given;
  const name = given.replace(/^(?:models\/)+/, '');
  return name.split('/').every((segment) => SEGMENT.test(segment)) ? name : undefined;
}

/**
 * Returns a text that is the same for all names that a provider of this type may treat as the same. Some servers ignore
 * case and surrounding spaces. Ollama adds the tag `latest` to a name without a tag. At Google, a name can be the whole
 * path of a model, such as `publishers/google/models/NAME`.
 */
export function comparedName(type: string, given: string): string {
  const name = given.trim().toLowerCase();
  if (type === 'google') return name.replace(/^(?:.*\/)?models\//, '');
  return type === 'openai-compatible' ? name.replace(/:latest$/, '') : name;
}
