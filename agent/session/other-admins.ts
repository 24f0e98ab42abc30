/** Whom a session asks beside an admin that went silent: the others of its list in turn, and where these send it. */
import { isFollowed, isSameAdmin, REDIRECTS_MAX } from './session-options.ts';

/** Of one silence. Whether an admin is reached, it is told. */
export class OtherAdmins {
  readonly #own: string;
  readonly #urls: () => readonly string[];
  /** Those at which no admin was meanwhile. */
  readonly #unreached: string[] = [];
  #place = 0;
  #count = 0;
  #redirects = 0;
  #redirect: string | null = null;
  #asked = '';

  /** `own`: the admin that is silent. `urls`: all that are known, in order of preference. */
  constructor(own: string, urls: () => readonly string[]) {
    this.#own = own;
    this.#urls = urls;
  }

  /** The one that is to be asked now; null: no other is known. */
  next(): string | null {
    this.#asked = this.#redirect ?? this.#nextOfList();
    this.#redirect = null;
    return this.#asked === '' ? null : this.#asked;
  }

  /**
   * It says that the cluster belongs to the admin at this URL; empty: to nobody. True: that one is to be asked at once.
   * One that is silent itself is not: until somebody else has taken the cluster over, all say the same.
   */
  redirected(url: string): boolean {
    this.#redirects += 1;
    if (this.#redirects > REDIRECTS_MAX || !this.#mayHelp(url)) {
      this.#redirects = 0;
      return false;
    }
    this.#redirect = url;
    return true;
  }

  /** What is there is no admin. True: the next of the list may be asked at once; false: all of them were. */
  unreached(): boolean {
    this.#unreached.push(this.#asked);
    return this.refused();
  }

  /** It answered something else than a welcome, and may be one all the same. True and false as above. */
  refused(): boolean {
    this.#redirects = 0;
    return this.#place < this.#count;
  }

  #nextOfList(): string {
    const others = this.#urls().filter((url) => !isSameAdmin(url, this.#own));
    this.#count = others.length;
    if (this.#place >= others.length) this.#place = 0;
    const url = others[this.#place] ?? '';
    this.#place += 1;
    return url;
  }

  #mayHelp(url: string): boolean {
    if (!URL.canParse(url) || !isFollowed(this.#asked, url)) return false;
    return ![this.#own, ...this.#unreached].some((silent) => isSameAdmin(silent, url));
  }
}
