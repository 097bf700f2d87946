"""A model in a module of its own."""

from langchain_core.language_models.fake_chat_models import FakeListChatModel

chat = FakeListChatModel(responses=["It is sunny."])
