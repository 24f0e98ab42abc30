/** What commands that make enrolment keys have in common: labels in, and what is in a key. */
import type { Labels } from '../transport/protocol/labels.ts';
import { EXIT, Problem } from './problem.ts';

/** Labels as AGENT_LABELS has them. Throws a Problem for others. What knows their syntax takes long to load. */
export async function givenLabels(text: string): Promise<Labels> {
  const { labelsOf } = await import('../transport/protocol/labels.ts');
  const labels = labelsOf(text);
  if (labels === null) throw new Problem(`--labels is "${text}": it should be like env=prod,site=hall-3`, EXIT.usage);
  return labels;
}

/** Names that only machines of one network know, if any: what ADMIN_URLS has when nobody set it. */
const BARE_NAME = /^[a-z0-9-]+$/iu;

/** URLs of admins in a key whose host is a bare name. */
export function bareUrls(key: string): readonly string[] {
  return urlsIn(key).filter((url) => {
    if (!URL.canParse(url)) return false;
    const { hostname } = new URL(url);
    return BARE_NAME.test(hostname) && hostname !== 'localhost' && !/^\d+$/u.test(hostname);
  });
}

/** None where the key is of a form that is not known here: another version of the service made it. */
function urlsIn(key: string): readonly string[] {
  try {
    const { admin_urls: urls } = JSON.parse(Buffer.from(key, 'base64url').toString()) as {
      readonly admin_urls?: unknown;
    };
    return Array.isArray(urls) ? urls.filter((url) => typeof url === 'string') : [];
  } catch {
    return [];
  }
}
