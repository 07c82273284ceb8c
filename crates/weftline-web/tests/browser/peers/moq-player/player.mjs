// The element <moq-watch>.

import '@moq/watch/element';
